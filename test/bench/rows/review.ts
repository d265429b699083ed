// POST /reviews/{materialId} at saturation, each of another material than its neighbours.
import type { Core } from '../dataset/core.ts';
import { httpRequest } from '../load/plan.ts';
import { comparedForms, type Row, saturate } from './row.ts';

const GRADES = [4, 5, 3, 4, 2];

export const reviewRequests = ({ gradable }: Core) =>
  gradable.map(({ person, materialId }, index) =>
    httpRequest(`/v1/reviews/${materialId}`, person.key, { quality: GRADES[index % GRADES.length] }),
  );

export const review: Row = {
  name: 'review',
  title: 'POST /reviews/{id}, 32 connections',
  isQuick: true,
  async compare(bench, comparison) {
    const rounds = await saturate(bench, comparison, 'review', reviewRequests(comparison.core));
    return {
      rounds,
      figures: comparedForms(rounds, {
        row: 'review',
        label: 'POST /reviews/{id}, CPU',
        figure: 'cpuMs',
        bar: { atMost: 0.65 },
        aim: 0.3,
      }),
    };
  },
};
