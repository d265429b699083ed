// GET /materials at saturation.
import { httpRequest } from '../load/plan.ts';
import { compared, type Row, saturate } from './row.ts';

export const list: Row = {
  name: 'list',
  title: 'GET /materials, lists of 12 KB, 32 connections',
  isQuick: true,
  async compare(bench, comparison) {
    const requests = comparison.core.readers.map(({ key }) => httpRequest('/v1/materials', key));
    const rounds = await saturate(bench, comparison, 'list', requests);
    const facts = { row: 'list', label: 'GET /materials, CPU', figure: 'cpuMs', against: 'A' } as const;
    return { rounds, figures: [compared(rounds, { ...facts, bar: { atMost: 0.75 }, aim: 0.35 })] };
  },
};
