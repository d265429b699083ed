// Holds the two forms of the sliding log, Lua in Redis and TypeScript in the process, to the same answers at the same instants.
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { takeFromLog } from '../../../services/rest/write-limit/limiter.ts';
import { SCRIPT } from '../../../services/rest/write-limit/redis.ts';
import { describeWithRedis, startRedis } from '../../support/redis.ts';

describeWithRedis('the write limit in Redis and in the process', () => {
  test('decide alike, with the same remaining and the same reset, over bursts, windows, edges and clocks put back', async () => {
    const server = await startRedis();
    const redis = new Redis(server.url);
    const seen = { accepted: 0, refused: 0, onEdge: 0, overManyWindows: 0 };
    let histories = 0;
    const inRedis = async (writes: readonly Write[]): Promise<unknown[]> => {
      histories += 1;
      const pipeline = redis.pipeline();
      for (const [index, { now, limit }] of writes.entries()) {
        const time = [Math.floor(now / SECOND_US), now % SECOND_US];
        pipeline.eval(AT_GIVEN_TIME, 1, `log:${histories}`, limit, WINDOW_US, `${index}`, ...time);
      }
      return ((await pipeline.exec()) ?? []).map(([error, reply]) => error ?? reply);
    };
    const inProcess = (writes: readonly Write[]): unknown[] => {
      const log: number[] = [];
      return writes.map(({ now, limit, onEdge }) => {
        const { allowed, remaining, untilReset } = takeFromLog(log, { now, window: WINDOW_US, limit });
        seen[allowed ? 'accepted' : 'refused'] += 1;
        seen.onEdge += Number(onEdge);
        return [Number(allowed), remaining, untilReset];
      });
    };
    try {
      await fc.assert(
        fc.asyncProperty(steps, async (history) => {
          const writes = toWrites(history);
          seen.overManyWindows += Number((writes.at(-1)?.now ?? 0) - START_US > 3 * WINDOW_US);
          expect(await inRedis(writes)).toEqual(inProcess(writes));
        }),
        { numRuns: 300 },
      );
    } finally {
      redis.disconnect();
      await server.stop();
    }
    // Else the histories would have shown less than the name of this test says.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(50);
  });
});

const SECOND_US = 1_000_000;
const WINDOW_US = 60 * SECOND_US;
const START_US = 1_796_000_000 * SECOND_US;

/** `limit` differs where replicas are configured differently. */
type Step = {
  when: { afterUs: number } | { edgeOf: number; offsetUs: number };
  burst: number;
  limit: number;
};

type Write = { now: number; limit: number; onEdge: boolean };

/** In microseconds; an edge is the instant at which an earlier write leaves the window. */
function toWrites(history: readonly Step[]): Write[] {
  const writes: Write[] = [];
  let now = START_US;
  for (const { when, burst, limit } of history) {
    const earlier = 'edgeOf' in when ? writes[when.edgeOf % Math.max(1, writes.length)] : undefined;
    if ('afterUs' in when) now += when.afterUs;
    else if (earlier !== undefined) now = earlier.now + WINDOW_US + when.offsetUs;
    const onEdge = 'edgeOf' in when && when.offsetUs === 0 && earlier !== undefined;
    for (let count = 0; count < burst; count += 1) writes.push({ now, limit, onEdge });
  }
  return writes;
}

/** The script as it is; only TIME, which no test can set, answers ARGV[4] and ARGV[5]. */
const AT_GIVEN_TIME = `
local server = redis
local redis = { call = function(name, ...)
  if name == 'TIME' then return { ARGV[4], ARGV[5] } end
  return server.call(name, ...)
end }
${SCRIPT}`;

const steps = fc.array(
  fc.record<Step>({
    when: fc.oneof(
      { weight: 3, arbitrary: fc.record({ afterUs: fc.nat(WINDOW_US / 4) }) },
      { weight: 3, arbitrary: fc.record({ edgeOf: fc.nat(), offsetUs: fc.constantFrom(-1, 0, 1) }) },
      { weight: 1, arbitrary: fc.record({ afterUs: fc.integer({ min: WINDOW_US, max: 3 * WINDOW_US }) }) },
      { weight: 1, arbitrary: fc.record({ afterUs: fc.integer({ min: -2 * WINDOW_US, max: -1 }) }) },
    ),
    burst: fc.integer({ min: 1, max: 7 }),
    limit: fc.oneof({ weight: 4, arbitrary: fc.constant(4) }, fc.integer({ min: 1, max: 6 })),
  }),
  { minLength: 1, maxLength: 25 },
);
