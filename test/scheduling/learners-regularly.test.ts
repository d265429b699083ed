// When the learners are counted: at once, then whenever it is time, one count after the other, until it is told to stop.
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test, vi } from 'vitest';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { type Database, openDatabase } from '../../services/platform/postgres/database.ts';
import { countRegularly } from '../../services/scheduling/count-learners.ts';
import { startScheduling } from '../../services/scheduling/service.ts';
import { newUserId, startTestScheduling, type TestScheduling } from '../support/scheduling.ts';

const PATIENCE_MS = inject('patienceMs');
const NOON = Date.parse('2026-03-31T12:00:00Z');
const lines: { level: number; msg: string; err: { message: string } }[] = [];
const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
let here: TestScheduling;
let database: Database;
/** What a count takes for now, and the clock of the process, which the tests put forward. */
let [asOfMs, clockMs] = [NOON, 0];
let stop = () => {};

beforeAll(async () => {
  here = await startTestScheduling();
  database = openDatabase({
    ...{ databaseUrl: here.databaseUrl, applicationName: 'test', maxConnections: 1, logger },
  });
  await here.create(newUserId());
});
afterAll(async () => {
  await database.close();
  await here.stop();
});
beforeEach(async () => {
  await here.sql.query('TRUNCATE scheduling.overview');
  [asOfMs, clockMs, lines.length] = [NOON, 0, 0];
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  vi.spyOn(performance, 'now').mockImplementation(() => clockMs);
});
afterEach(() => {
  stop();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Not by expect.poll, which puts the clock forward as well. */
async function until(isMet: () => boolean): Promise<void> {
  const endMs = Date.now() + PATIENCE_MS;
  while (!isMet()) {
    if (Date.now() > endMs) throw new Error('what is waited for does not come');
    await new Promise(setImmediate);
  }
}
async function countedAsOf(): Promise<string | undefined> {
  const { rows } = await here.sql.query<{ time: Date }>('SELECT as_of_time AS time FROM scheduling.overview');
  return rows[0]?.time.toISOString();
}

/** Counts regularly, each count after `before`; tells how many have begun and ended, and the lag that operators see. */
function begin(before: () => Promise<void> = async () => {}) {
  const metrics = createMetrics();
  const looks = { begun: 0, ended: 0 };
  const watched: Database = {
    ...database,
    transaction(work, options) {
      looks.begun += 1;
      return before()
        .then(() => database.transaction(work, options))
        .finally(() => {
          looks.ended += 1;
        });
    },
  };
  const telemetry = { ...createTelemetry(), metrics };
  stop = countRegularly(watched, { now: () => new Date(asOfMs), logger, telemetry });
  const lagSeconds = async () =>
    Number(/srs_schedule_lag_seconds\{task="count-learners"\} (\S+)/.exec(await metrics.render())?.[1]);
  return { looks, lagSeconds };
}
const untilEnded = async (looks: { ended: number }, count: number) => {
  await until(() => looks.ended === count);
  // What follows an end has been done as well.
  await new Promise(setImmediate);
};

test('learners are counted at once, and looked at every 15 seconds until the count is four minutes old', async () => {
  const { looks } = begin();
  await untilEnded(looks, 1);
  expect(await countedAsOf()).toBe('2026-03-31T12:00:00.000Z');
  vi.advanceTimersByTime(14_999);
  expect(looks.begun).toBe(1);
  asOfMs = NOON + 239_999;
  vi.advanceTimersByTime(1);
  await untilEnded(looks, 2);
  expect(await countedAsOf()).toBe('2026-03-31T12:00:00.000Z');
  asOfMs = NOON + 240_000;
  vi.advanceTimersByTime(15_000);
  await untilEnded(looks, 3);
  expect(await countedAsOf()).toBe('2026-03-31T12:04:00.000Z');
  expect(lines).toEqual([]);
});

test('a count that takes long is not joined by another', async () => {
  const gate = Promise.withResolvers<void>();
  const { looks } = begin(() => gate.promise);
  vi.advanceTimersByTime(60_000);
  expect(looks.begun).toBe(1);
  gate.resolve();
  await untilEnded(looks, 1);
  vi.advanceTimersByTime(15_000);
  expect(looks.begun).toBe(2);
  await untilEnded(looks, 2);
});

test('a count that fails is logged, tried again at the next look, and told by the lag from four minutes on', async () => {
  let fault: Error | undefined = new Error('a node is away');
  const { looks, lagSeconds } = begin(async () => {
    if (fault !== undefined) throw fault;
  });
  await untilEnded(looks, 1);
  expect(lines).toMatchObject([
    { level: 40, msg: 'could not count the learners', err: { message: 'a node is away' } },
  ]);
  clockMs = 240_000;
  expect(await lagSeconds()).toBe(0);
  clockMs = 241_500;
  expect(await lagSeconds()).toBe(1.5);
  fault = undefined;
  vi.advanceTimersByTime(15_000);
  await untilEnded(looks, 2);
  expect([await countedAsOf(), await lagSeconds(), lines.length]).toEqual(['2026-03-31T12:00:00.000Z', 0, 1]);
});

test('once it is told to stop it looks no more, and what it was counting is neither stored nor logged', async () => {
  const gate = Promise.withResolvers<void>();
  const { looks } = begin(() => gate.promise);
  stop();
  gate.resolve();
  await untilEnded(looks, 1);
  vi.advanceTimersByTime(60_000);
  expect([looks.begun, await countedAsOf(), lines]).toEqual([1, undefined, []]);
});

test('a service that has ended looks no more, and says nothing', async () => {
  const place = { databaseUrl: here.databaseUrl, host: '127.0.0.1', port: 0 };
  const trust = { serviceTokens: [], tls: undefined };
  const config = { ...place, trust, shutdownTimeoutMs: 2000, logLevel: 'silent' } as const;
  const service = await startScheduling({ config, logger, now: () => new Date(asOfMs) });
  while ((await countedAsOf()) === undefined) await new Promise(setImmediate);
  await service.close(100);
  vi.advanceTimersByTime(600_000);
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  expect(lines.filter(({ level }) => level > 30)).toEqual([]);
});
