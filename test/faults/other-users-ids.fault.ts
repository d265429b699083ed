// Promise: another user's ids cannot be told from ids that do not exist, by status, by body, or by time.
import { v7 as uuidV7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { areaUnderCurve } from '../support/statistics.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { recordFigure } from './support/figures.ts';
import { createClient } from './support/load.ts';
import { sized } from './support/rounds.ts';

const OTHERS_MATERIALS = 200;
let here: TestSystem;
let key: string;
let theirs: string[];

beforeAll(async () => {
  here = await startSystem();
  const other = await here.createUser();
  const client = createClient(here.origins);
  theirs = [];
  for (let index = 0; index < OTHERS_MATERIALS; index += 1) {
    const json = { title: `T ${index}` };
    const { text } = await client.send({ method: 'POST', path: '/materials', key: other.key, json });
    theirs.push(JSON.parse(text).material.id);
  }
  client.close();
  key = (await here.createUser()).key;
});
afterAll(() => here.stop());

describe.each([
  ['a review', (id: string) => `/reviews/${id}`, { quality: 4 }],
  ['a snooze', (id: string) => `/materials/${id}/snooze`, { preset: '1h' }],
])('%s of another user’s material', (name, pathOf, json) => {
  test('is answered like one of no material, and as soon', async () => {
    const pairs = sized(5000);
    const client = createClient(here.origins);
    const timesOf = { theirs: [] as number[], nobodys: [] as number[] };
    const bodies = new Set<string>();
    const ask = async (whose: keyof typeof timesOf, id: string, isMeasured: boolean) => {
      const { status, text, ms } = await client.send({ method: 'POST', path: pathOf(id), key, json });
      expect(status).toBe(404);
      bodies.add(text.replaceAll(id, 'ID'));
      if (isMeasured) timesOf[whose].push(ms);
    };
    for (let pair = -50; pair < pairs; pair += 1) {
      const known = theirs[Math.floor(Math.random() * theirs.length)] ?? '';
      const calls = [() => ask('theirs', known, pair >= 0), () => ask('nobodys', uuidV7(), pair >= 0)];
      for (const call of Math.random() < 0.5 ? calls : calls.toReversed()) await call();
    }
    client.close();
    expect([...bodies]).toEqual([
      '{"error":{"code":"not_found","message":"There is no material \\"ID\\"."}}',
    ]);
    const area = areaUnderCurve(timesOf.theirs, timesOf.nobodys);
    recordFigure({
      promise: `${name} of another user’s ID against an unknown ID: distance of the AUC from 0.5`,
      measured: Math.abs(area - 0.5),
      bar: 0.03,
      unit: 'ratio',
      over: `${pairs.toLocaleString('en')} interleaved pairs`,
    });
  });
});
