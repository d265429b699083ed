// Which way each statement takes through a Citus cluster, as Citus itself logs it.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { migrate } from '../../services/platform/postgres/migrate.ts';
import { distributeScheduling } from '../../services/scheduling/distribute.ts';
import { schedulingSchema } from '../../services/scheduling/service.ts';
import { type RecordedStatement, recordStatements } from '../scheduling/statement-recorder.ts';
import { flatten } from '../scheduling/statement-rules.ts';
import { createCitusDatabase, hasCitus } from '../support/citus.ts';

beforeAll(prepare);
afterAll(stopAll);

test.skipIf(!hasCitus)(
  'each statement goes to one shard of each table, on one node, but for those with a reason',
  async () => {
    const many = new Set<string>();
    const local = new Set<string>();
    for (const statement of statements) {
      const { shardsOfATable, nodes } = await routeOf(statement);
      if (shardsOfATable > 1 || nodes > 1) many.add(statement.functionName);
      if (nodes === 0) local.add(flatten(statement.text));
    }
    expect([...many].toSorted()).toEqual(Object.keys(ALL_SHARDS).toSorted());
    expect([...local].toSorted()).toEqual([
      expect.stringMatching(/^INSERT INTO scheduling\.learner_count /),
      expect.stringMatching(/^INSERT INTO scheduling\.overview /),
      'SELECT as_of_time AS "asOfTime", summary FROM scheduling.overview',
      'SELECT clock_timestamp() AS time WHERE pg_try_advisory_xact_lock($1)',
      expect.stringMatching(/^SELECT clock_timestamp\(\) AS time, .* FROM scheduling\.prediction_round$/),
      expect.stringMatching(
        /^SELECT clock_timestamp\(\) AS time, .* FROM scheduling\.prediction_round FOR UPDATE$/,
      ),
      expect.stringMatching(/^SELECT end_time .* FROM scheduling\.prediction_round /),
      'SELECT progress, next_time AS "nextTime" FROM scheduling.learner_count',
      "SELECT set_config('', '', true), set_config('', '', true)",
      'SET LOCAL enable_bitmapscan = off',
      "SET LOCAL gin_pending_list_limit = ''",
      'UPDATE scheduling.prediction_round SET after_user_id = $1, next_time = $2',
      'UPDATE scheduling.prediction_round SET end_time = $1, best_counts = $2',
    ]);
  },
);

test.skipIf(!hasCitus)('the read of a review takes the fast path', async () => {
  const reads = statements.filter(({ functionName }) => FAST_PATH.includes(functionName));
  expect(new Set(reads.map(({ functionName }) => functionName))).toEqual(new Set(FAST_PATH));
  for (const statement of reads)
    expect(await routeOf(statement), statement.text).toMatchObject({ isFast: true, nodes: 1 });
});

test.skipIf(!hasCitus)('a review is written by a function that runs on the node of its user', async () => {
  const review = statements.find(({ functionName }) => functionName === 'applyReviews');
  if (review === undefined) throw new Error('no statement of applyReviews');
  heard = [];
  await sql.query(review.text, [...review.values]);
  const issued = heard.filter(({ message }) => message.startsWith('issuing'));
  expect(issued.map(({ message }) => /^issuing SELECT scheduling\.apply_review\(/.test(message))).toEqual([
    true,
  ]);
});

/** Planned by Citus without its planner for joins: the cheapest way. Lists are cut by a sum over a subquery, which it plans twice. */
const FAST_PATH = ['findMaterials'];

let database: Awaited<ReturnType<typeof createCitusDatabase>>;
let sql: Client;
let statements: RecordedStatement[];
let heard: { message: string; detail: string }[] = [];

async function prepare(): Promise<void> {
  if (!hasCitus) return;
  database = await createCitusDatabase();
  const { databaseUrl } = database;
  await migrate({ databaseUrl, ...schedulingSchema, logger: createLogger('test', 'silent') });
  await distributeScheduling(databaseUrl);
  sql = new Client({ connectionString: databaseUrl });
  sql.on('notice', ({ message = '', detail = '' }) => void heard.push({ message, detail }));
  await sql.connect();
  await sql.query('SET citus.log_remote_commands = on; SET client_min_messages = debug2');
  const recorded = await recordStatements();
  // On Citus, requests of several users are sent one by one, and a search names its user directly.
  statements = recorded.statements.filter(
    ({ text, functionName }) =>
      !text.includes('WITH ORDINALITY AS item') &&
      !(functionName === 'searchMaterials' && flatten(text).includes('WHERE (s.user_id = $1')),
  );
}

async function stopAll(): Promise<void> {
  if (!hasCitus) return;
  await sql.end();
  await database.drop();
}

/** The shards that a statement names on the nodes, the nodes, and whether Citus planned it by its fast path. */
async function routeOf({ text, values }: RecordedStatement) {
  heard = [];
  await sql.query('BEGIN');
  await sql.query(text, [...values]).catch((error) => {
    // Rows that a reference needs are missing: it went there all the same.
    if (!error.message.includes(' violates ')) throw error;
  });
  await sql.query('ROLLBACK');
  const issued = heard.filter(({ message }) => /^issuing .*scheduling\./s.test(message));
  const shards = issued.flatMap(({ message }) => message.match(/scheduling\.\w+_\d{6,}/g) ?? []);
  const tables = Map.groupBy(new Set(shards), (shard) => shard.replace(/_\d+$/, ''));
  return {
    shardsOfATable: Math.max(0, ...[...tables.values()].map(({ length }) => length)),
    nodes: new Set(issued.map(({ detail }) => detail.replace(/ connectionId.*/, ''))).size,
    isFast: heard.some(({ message }) => message.includes('fast-path router query')),
  };
}

/** Why a function's statements go to more than one shard. */
const ALL_SHARDS: Readonly<Record<string, string>> = {
  findMaterialOwners: 'asks whose materials are, through an index',
  listScheduled: 'counts all learners',
  deleteOtherLearners: 'as listScheduled',
  listLearners: 'lists all learners, through an index',
  listCandidates: 'as listScheduled',
  countBest: 'as listScheduled',
  deleteOldIdempotencyRecords: 'deletes what is older than a day, of everyone',
  countMaterials: 'npm run verify, of everyone',
  readHistories: 'npm run verify, of everyone',
};
