// Ours in both forms, A and A+ over one database, those of another checkout over its own, and the proof that they answer the same before anything is timed.
import assert from 'node:assert/strict';
import type { Bench } from '../bench.ts';
import { type Core, FULL, openCore, SMALL } from '../dataset/core.ts';
import { withClient } from '../dataset/databases.ts';
import { type Person, personOf } from '../dataset/people.ts';
import { type System, type SystemName, startSystem } from './systems.ts';

export type Comparison = { core: Core; systems: readonly System[]; stop(): Promise<void> };
type Answer = { status: number; body: string; policy: string | null };

const LIST_BYTES = { min: 11_500, max: 12_500 };

export async function startComparison(bench: Bench): Promise<Comparison> {
  const core = await openCore(bench.databases, bench.quick ? SMALL : FULL);
  const [reader] = core.readers;
  if (reader === undefined) throw new Error('there are no readers');
  const systems: System[] = [];
  const databases: string[] = [];
  const stop = async () => {
    await Promise.all(systems.map((system) => system.stop()));
    for (const database of databases) await bench.databases.drop(database);
  };
  bench.atEnd(stop);
  const { redis, profileFolder, against } = bench;
  const start = async (names: readonly SystemName[], databaseUrl: string, before?: { folder: string }) => {
    for (const name of names) {
      bench.say(`starting ${nameBefore(name, before)}`);
      const options = { databaseUrl, redisUrl: redis.url, reader, profileFolder, ...before };
      systems.push({ ...(await startSystem(name, options)), name: nameBefore(name, before) });
    }
  };
  const database = await bench.databases.copyOf(core.name, 'core');
  databases.push(database);
  await start(['A', 'A+', 'ours', 'one process'], bench.databases.urlOf(database));
  if (against !== undefined) {
    const { name } = await openCore(against.databases, bench.quick ? SMALL : FULL);
    const itsDatabase = await against.databases.copyOf(name, 'core_before');
    databases.push(itsDatabase);
    await start(['ours', 'one process'], against.databases.urlOf(itsDatabase), { folder: against.folder });
  }
  bench.say('comparing answers byte by byte');
  await assertSameAnswers(systems, core);
  return { core, systems, stop };
}

/** As it is called in figures, where it is of another checkout. */
const nameBefore = (name: SystemName, before: object | undefined) =>
  before === undefined ? name : `${name}, before`;

async function assertSameAnswers(systems: readonly System[], core: Core): Promise<void> {
  const same = async (what: string, ask: (system: System) => Promise<unknown>) => {
    const [first, ...others] = await inSequence(systems, ask);
    for (const [index, other] of others.entries())
      assert.deepEqual(other, first, `${what}: ${systems[index + 1]?.name} and ${systems[0]?.name} differ`);
    return first;
  };
  for (const { key } of core.readers.slice(0, 5)) {
    for (const path of [
      '/v1/reviews/due',
      '/v1/reviews/due?limit=3',
      '/v1/materials',
      '/v1/materials?limit=50',
    ])
      await same(path, (system) => ask(system, path, key));
    const { body } = (await same('due', (system) => ask(system, '/v1/reviews/due', key))) as Answer;
    const bytes = Buffer.byteLength(body);
    assert.ok(bytes >= LIST_BYTES.min && bytes <= LIST_BYTES.max, `a due list has ${bytes} bytes, not 12 KB`);
  }
  const [gradable] = core.gradable;
  if (gradable === undefined) throw new Error('there is nothing to grade');
  const { person, materialId } = gradable;
  const review = `/v1/reviews/${materialId}`;
  const limited = personOf('limited').key;
  const refusals: [string, string, string, unknown?][] = [
    ['a key that is wrong', '/v1/reviews/due', person.key.replace(/.$/, '~')],
    ['a key that is unknown', '/v1/reviews/due', personOf('nobody').key],
    ['a key without the scope', '/v1/reviews/due', limited],
    ['a write without the scope', review, limited, { quality: 4 }],
    ['a limit out of range', '/v1/materials?limit=0', person.key],
    ['a grade out of range', review, person.key, { quality: 6 }],
    ['a material of somebody else', review, core.readers[0]?.key ?? '', { quality: 4 }],
  ];
  for (const [what, path, key, json] of refusals)
    await same(what, async (system) => {
      const { status, body, policy } = await ask(system, path, key, json);
      return { status, code: JSON.parse(body).error.code, policy };
    });
  await same('a review', (system) => reviewAndUndo(system, person, materialId));
}

async function ask({ port }: System, path: string, key: string, json?: unknown): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    ...(json !== undefined && { method: 'POST', body: JSON.stringify(json) }),
    headers: {
      authorization: `Bearer ${key}`,
      ...(json !== undefined && { 'content-type': 'application/json' }),
    },
  });
  const policy = response.headers.get('ratelimit-policy');
  return { status: response.status, body: await response.text(), policy };
}

/** What the answer says, every instant that depends on the clock as its distance from the review. */
async function reviewAndUndo(system: System, { userId, key }: Person, materialId: string) {
  const answer = await ask(system, `/v1/reviews/${materialId}`, key, { quality: 5 });
  assert.equal(answer.status, 200, `${system.name} answered a review with ${answer.body}`);
  const reviewedMs = Date.parse(JSON.parse(answer.body).review.reviewedAt);
  const body = answer.body.replaceAll(
    /"(reviewedAt|nextReview|lastReviewed|updatedAt)":"([^"]+)"/g,
    (_, field: string, time: string) => `"${field}":${Date.parse(time) - reviewedMs}`,
  );
  await withClient(system.databaseUrl, async (client) => {
    const values = [userId, materialId];
    const kept = await client.query(
      `DELETE FROM scheduling.reviews WHERE user_id = $1 AND material_id = $2
       RETURNING quality, revision, before_next_review_time`,
      values,
    );
    assert.equal(kept.rowCount, 1, `${system.name} stored ${kept.rowCount} reviews for one`);
    const [review] = kept.rows;
    await client.query(
      `UPDATE scheduling.materials SET ease_factor_hundredths = 236, interval_days = 0, repetitions = 0,
         next_review_time = $3, last_reviewed_time = NULL, update_time = create_time, revision = 0
       WHERE user_id = $1 AND material_id = $2`,
      [...values, review.before_next_review_time],
    );
    assert.deepEqual([review.quality, review.revision], [5, 1]);
  });
  return { body, policy: answer.policy };
}

async function inSequence<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}
