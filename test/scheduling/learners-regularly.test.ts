// The loop that counts the learners: turn after turn, with the wait that each names, until it is told to stop.
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import type { Database } from '../../services/platform/postgres/database.ts';
import { countRegularly, waitAfterFailureMs } from '../../services/scheduling/count-learners.ts';

beforeEach(() => void lines.splice(0));
afterEach(cleanUp);

test('a turn follows after the wait that the one before names', async () => {
  const { turns } = begin(async (number) => ({ waitMs: number < 3 ? 1 : 60_000 }));
  await expect.poll(() => turns.begun).toBe(3);
  await sleep(50);
  expect(turns.begun).toBe(3);
});

test('a turn that fails is logged, and shows in the lag a minute later', async () => {
  let clockMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => clockMs);
  const { turns, lagSeconds } = begin(() => Promise.reject(new Error('a node is away')));
  await expect.poll(() => lines.length).toBe(1);
  expect([turns.begun, lines]).toMatchObject([
    1,
    [{ level: 40, msg: 'could not count the learners', err: { message: 'a node is away' } }],
  ]);
  clockMs = 60_000;
  expect(await lagSeconds()).toBe(0);
  clockMs = 61_500;
  expect(await lagSeconds()).toBe(1.5);
});

test('a turn that fails late does not end the lag, since nothing was counted', async () => {
  let clockMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => clockMs);
  const turn = Promise.withResolvers<{ waitMs: number }>();
  const { lagSeconds } = begin(() => turn.promise);
  clockMs = 90_000;
  turn.reject(new Error('a node is away'));
  await expect.poll(() => lines.length).toBe(1);
  expect(await lagSeconds()).toBe(30);
});

test('a turn without a connection is no news, as while a process starts', async () => {
  const { turns } = begin(() => Promise.reject(new ServiceError('UNAVAILABLE')));
  await sleep(50);
  expect([turns.begun, lines]).toEqual([1, []]);
});

test('after a statement of 10 s that was ended the next turn waits 990 s, after another failure 15 s', () => {
  expect(waitAfterFailureMs(TOO_SLOW)).toBe(990_000);
  expect(waitAfterFailureMs(new ServiceError('UNAVAILABLE'))).toBe(15_000);
  expect(waitAfterFailureMs(new Error('a node is away'))).toBe(15_000);
});

test('a statement that was ended is logged the first time, since the next turn is far', async () => {
  const { turns } = begin(() => Promise.reject(TOO_SLOW));
  await expect.poll(() => lines).toMatchObject([{ level: 40, msg: 'could not count the learners' }]);
  expect(turns.begun).toBe(1);
});

test('once it is told to stop no turn follows, and the failure of the last is not logged', async () => {
  const turn = Promise.withResolvers<{ waitMs: number }>();
  const { turns } = begin(() => turn.promise);
  stop();
  turn.reject(new Error('the pool is closed'));
  await sleep(50);
  expect([turns.begun, lines]).toEqual([1, []]);
});

const TOO_SLOW = new ServiceError('UNAVAILABLE', {
  cause: Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' }),
});
const lines: { level: number; msg: string; err: { message: string } }[] = [];
const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
let stop = () => {};

function cleanUp(): void {
  stop();
  vi.restoreAllMocks();
}

/** Turns that end as `turn` says, which are counted; and the lag that operators see. */
function begin(turn: (number: number) => Promise<{ waitMs: number }>) {
  const metrics = createMetrics();
  const turns = { begun: 0 };
  const database = {
    transaction() {
      turns.begun += 1;
      return turn(turns.begun);
    },
  } as Pick<Database, 'transaction'> as Database;
  const telemetry = { ...createTelemetry(), metrics };
  stop = countRegularly(database, { now: () => new Date(), logger, telemetry });
  const lagSeconds = async () =>
    Number(/srs_schedule_lag_seconds\{task="count-learners"\} (\S+)/.exec(await metrics.render())?.[1]);
  return { turns, lagSeconds };
}
