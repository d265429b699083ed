// Promise: a flood of well-formed keys that nobody has does not hold up those who have one.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateKey } from '../../services/accounts/keys/rules.ts';
import { percentile } from '../support/statistics.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { recordFigure } from './support/figures.ts';
import { startLoad } from './support/load.ts';
import { sized } from './support/rounds.ts';

let here: Deployment;
beforeAll(async () => {
  here = await startDeployment({ replicas: { accounts: 1, scheduling: 1, rest: 1 } });
});
afterAll(() => here.stop());

/** The known key's latencies, while `during` goes on. */
async function latencies(key: string, count: number): Promise<number[]> {
  const found: number[] = [];
  const load = startLoad({
    origins: here.origins,
    workers: 4,
    pauseMs: 5,
    next: () => ({ method: 'GET', path: '/me', key }),
    onOutcome: ({ ms }) => found.push(ms),
  });
  while (found.length < count) await sleep(20);
  expect(await load.stop()).toEqual([]);
  return found;
}

describe('a flood of unknown keys', () => {
  test('of 64 clients leaves a known key its answers, none of them refused', async () => {
    const { key } = await here.createKey();
    const count = sized(4000);
    await latencies(key, 200);
    const calm = percentile(await latencies(key, count), 0.99);
    const unknown = Array.from({ length: 5000 }, () => generateKey(randomBytes));
    let turn = 0;
    const statuses = new Map<number, number>();
    const flood = startLoad({
      origins: here.origins,
      workers: 64,
      pauseMs: 50,
      next: () => {
        turn += 1;
        return { method: 'GET', path: '/me', key: unknown[turn % unknown.length] ?? '' };
      },
      isExpected: ({ status }) => status === 401 || status === 503,
      onOutcome: ({ status }) => statuses.set(status, (statuses.get(status) ?? 0) + 1),
    });
    const flooded = percentile(await latencies(key, count), 0.99);
    expect(await flood.stop()).toEqual([]);
    expect(statuses.get(401)).toBeGreaterThan(0);
    const over = `${count} requests; the flood: ${flood.answered()} keys at once with them`;
    recordFigure({
      promise: 'p99 of a known key without a flood',
      measured: calm,
      bar: 50,
      unit: 'ms',
      over,
    });
    recordFigure({
      promise: 'p99 of a known key during a flood of unknown keys from 64 clients',
      measured: flooded,
      bar: 100,
      unit: 'ms',
      over,
    });
  });
});
