// GET /materials at saturation.
import { httpRequest } from '../load/plan.ts';
import { comparedForms, type Row, saturate } from './row.ts';

export const list: Row = {
  name: 'list',
  title: 'GET /materials, lists of 12 KB, 32 connections',
  isQuick: true,
  async compare(bench, comparison) {
    const requests = comparison.core.readers.map(({ key }) => httpRequest('/v1/materials', key));
    const rounds = await saturate(bench, comparison, 'list', requests);
    return {
      rounds,
      figures: comparedForms(rounds, {
        row: 'list',
        label: 'GET /materials, CPU',
        figure: 'cpuMs',
        bar: { atMost: 0.9 },
        aim: 0.35,
      }),
    };
  },
};
