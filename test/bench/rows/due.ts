// GET /reviews/due at saturation: CPU against both baselines, and how many a second.
import { compared, comparedForms, dueRequests, type Row, saturate } from './row.ts';

export const due: Row = {
  name: 'due',
  title: 'GET /reviews/due, lists of 12 KB, 32 connections',
  isQuick: true,
  async compare(bench, comparison) {
    const rounds = await saturate(bench, comparison, 'due', dueRequests(comparison.core));
    return {
      rounds,
      figures: [
        ...comparedForms(rounds, {
          row: 'due',
          label: 'GET /reviews/due, CPU',
          figure: 'cpuMs',
          bar: { atMost: 0.9 },
          aim: 0.35,
        }),
        compared(rounds, {
          row: 'due',
          label: 'GET /reviews/due, requests a second',
          figure: 'perSecond',
          against: 'A',
          bar: { atLeast: 1.3 },
          aim: 3,
        }),
      ],
    };
  },
};
