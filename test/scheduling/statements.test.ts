// Every statement and the whole schema keep each user's rows together, so that they can be spread over nodes by user_id.
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DISTRIBUTED_TABLES } from '../../services/scheduling/distribute.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';
import { isRecorded, type RecordedStatement, recordStatements, writtenSql } from './statement-recorder.ts';
import { namesCalledByWrite, SCHEMA_PROBLEMS, unboundTables } from './statement-rules.ts';

beforeAll(startAll);
afterAll(stopAll);

describe('the statements of the scheduling repositories', () => {
  test('are all heard: every function is called, and every piece of SQL in the sources is issued', async () => {
    const { uncalled, unknown } = await recordStatements();
    expect({ uncalled, unknown }).toEqual({ uncalled: [], unknown: [] });
    const { pieces, names, namesInPieces } = writtenSql();
    expect(namesInPieces).toBe(names);
    expect(pieces.length).toBeGreaterThanOrEqual(40);
    expect(pieces.filter((piece) => !isRecorded(piece, statements))).toEqual([]);
  });

  test('read and write the rows of one user only, but for those that are listed with a reason', () => {
    const unbound = statements.filter(({ text }) => unboundTables(text).length > 0);
    expect([...new Set(unbound.map(({ functionName }) => functionName))].toSorted()).toEqual(
      Object.keys(UNBOUND).toSorted(),
    );
  });

  test('that answer several users bind each branch to the user asked about; one is bound directly', () => {
    const listed = statements.filter(({ functionName }) => Object.hasOwn(SEVERAL, functionName));
    const several = listed.filter(({ text }) => text.includes('WITH ORDINALITY AS item'));
    expect(new Set(several.map(({ functionName }) => functionName))).toEqual(new Set(Object.keys(SEVERAL)));
    for (const { text } of several) {
      expect(text).toMatch(/CROSS JOIN LATERAL \([\s\S]*(?:m\.user_id = |apply_review\()item\.user_id/);
      expect(unboundTables(text, ['item'])).toEqual([]);
    }
    for (const { text } of listed.filter((each) => !several.includes(each)))
      expect(unboundTables(text)).toEqual([]);
  });

  test('that write call nothing whose answer may change: instants come finished', async () => {
    const called = statements.flatMap(({ text }) => namesCalledByWrite(text));
    expect(called).toContain('lower');
    expect(await changeable(called)).toEqual([]);
  });

  test.each([
    ['SELECT * FROM scheduling.materials m WHERE m.material_id = $1', ['materials']],
    ['SELECT * FROM scheduling.materials WHERE material_id = $1 FOR UPDATE', ['materials']],
    [
      `SELECT * FROM scheduling.materials m WHERE m.user_id = current_setting('app.user')::uuid`,
      ['materials'],
    ],
    ['SELECT * FROM scheduling.materials m WHERE m.user_id = $1 OR m.user_id = $2', ['user_id in an OR']],
    [
      'SELECT * FROM scheduling.materials m WHERE (m.user_id = $1 AND m.title = lower($2)) IS TRUE',
      ['user_id within an expression'],
    ],
    [
      `SELECT * FROM scheduling.reviews r JOIN scheduling.materials m ON m.material_id = r.material_id
       WHERE r.user_id = $1`,
      ['materials'],
    ],
    ['UPDATE scheduling.materials SET title = $2 WHERE material_id = $1', ['materials']],
    ['DELETE FROM scheduling.snoozes WHERE snooze_id = $1', ['snoozes']],
    ['INSERT INTO scheduling.snoozes (snooze_id, user_id) VALUES ($1, $2)', ['snoozes']],
    ['INSERT INTO scheduling.snoozes (user_id, snooze_id) SELECT user_id, $1 FROM elsewhere', ['snoozes']],
    ['SELECT scheduling.insert_material(current_user_id(), $1)', ['insert_material']],
    [
      'WITH a AS (DELETE FROM scheduling.reviews WHERE user_id = $1) DELETE FROM scheduling.snoozes',
      ['snoozes'],
    ],
  ])('would be caught: %s', (text, problems) => {
    expect(unboundTables(text)).toEqual(problems);
  });

  test.each(['now()', 'random()', 'clock_timestamp()', 'CURRENT_TIMESTAMP', 'gen_random_uuid()'])(
    'would be caught: %s in an UPDATE',
    async (call) => {
      const text = `UPDATE scheduling.materials SET update_time = ${call} WHERE user_id = $1`;
      expect((await changeable(namesCalledByWrite(text))).length).toBe(1);
    },
  );
});

describe('the schema of scheduling', () => {
  const problems = async () => {
    const found: string[] = [];
    for (const [kind, query] of Object.entries(SCHEMA_PROBLEMS)) {
      const { rows } = await sql.query<{ name: string }>(query);
      found.push(...rows.map(({ name }) => `${kind}: ${name}`));
    }
    return found;
  };

  test('has nothing that ties the rows of different users together', async () => {
    expect(await problems()).toEqual([]);
  });

  test('is distributed table by table, and none is forgotten', async () => {
    const { rows } = await sql.query<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class
       WHERE relnamespace = 'scheduling'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'schema_migrations'`,
    );
    // One row about all users stays on the coordinator.
    expect(rows.map(({ name }) => name).toSorted()).toEqual(
      [
        ...DISTRIBUTED_TABLES,
        'scheduling.overview',
        'scheduling.learner_count',
        'scheduling.prediction_round',
      ].toSorted(),
    );
  });

  test.each([
    [
      'trigger: t',
      `CREATE FUNCTION scheduling.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
       CREATE TRIGGER t AFTER INSERT ON scheduling.reviews FOR EACH ROW EXECUTE FUNCTION scheduling.f()`,
    ],
    ['table without a primary key: loose', 'CREATE TABLE scheduling.loose (user_id uuid)'],
    [
      'unique without user_id first: scheduling.u',
      'CREATE UNIQUE INDEX u ON scheduling.reviews (review_id, user_id)',
    ],
    [
      'unique without user_id first: scheduling.notes_pkey',
      'CREATE TABLE scheduling.notes (id uuid PRIMARY KEY)',
    ],
    [
      'foreign key that leaves the user: k',
      `CREATE TABLE public.types (user_id uuid PRIMARY KEY);
       ALTER TABLE scheduling.materials ADD CONSTRAINT k FOREIGN KEY (user_id) REFERENCES public.types`,
    ],
    [
      'ON DELETE SET NULL or SET DEFAULT: k',
      `ALTER TABLE scheduling.reviews ADD CONSTRAINT k FOREIGN KEY (user_id, material_id)
       REFERENCES scheduling.materials ON DELETE SET NULL`,
    ],
    [
      'default that is not constant: scheduling.reviews review_time',
      'ALTER TABLE scheduling.reviews ALTER COLUMN review_time SET DEFAULT now()',
    ],
  ])('would be caught: %s', async (problem, change) => {
    await sql.query('BEGIN');
    try {
      await sql.query(change);
      expect(await problems()).toEqual([problem]);
    } finally {
      await sql.query('ROLLBACK');
    }
  });
});

let database: TestDatabase;
let sql: Client;
let statements: RecordedStatement[];

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  const { databaseUrl } = database;
  sql = new Client({ connectionString: databaseUrl });
  await sql.connect();
  ({ statements } = await recordStatements());
}

async function stopAll(): Promise<void> {
  await sql.end();
  await database.drop();
}

/** Of these names, those of functions that may answer otherwise the next time. */
async function changeable(names: readonly string[]): Promise<string[]> {
  const { rows } = await sql.query<{ name: string }>(
    `SELECT DISTINCT proname::text AS name FROM pg_proc WHERE proname = ANY($1) AND provolatile <> 'i'`,
    [names],
  );
  return [...rows.map(({ name }) => name), ...names.filter((name) => /^(current_|localtime)/.test(name))];
}

/** Functions whose statement answers one item, or several of any users where all users' rows are on one node. */
const SEVERAL: Readonly<Record<string, string>> = {
  listDueMaterials: 'each branch is bound to the user of its request',
  listNewestMaterials: 'as listDueMaterials',
  findMaterials: 'as listDueMaterials',
  findMaterialsToReview: 'as listDueMaterials',
  readDueCounts: 'as listDueMaterials',
};
/** Functions with a statement that is not bound to one user by a parameter, and why that is right. */
const UNBOUND: Readonly<Record<string, string>> = {
  ...SEVERAL,
  searchMaterials:
    'looks for pieces that each hold their user, bound in a way that no B-tree serves; the rows are bound, and so is each material looked up',
  readOverview: 'the row about all learners, on the coordinator',
  storeOverview: 'as readOverview',
  readProgress: 'as readOverview',
  storeProgress: 'as readOverview',
  readRound: 'the row about the round through all learners, on the coordinator',
  lockRound: 'as readRound',
  storeRound: 'as readRound',
  readBest: 'as readRound',
  storeBest: 'as readRound',
  countBest: 'counts learners, of everyone; runs on all nodes',
  listCandidates: 'as countBest',
  countReviews: 'as countBest',
  listScheduled: 'counts learners, of everyone; runs on all nodes',
  readLearners: 'as listScheduled',
  readReviewed: 'as listScheduled',
  storeLearners: 'as listScheduled',
  deleteOtherLearners: 'as listScheduled',
  listLearners: 'the list of all learners, each node through an index',
  findMaterialOwners: 'asks whose materials are; runs on all nodes, through an index',
  deleteOldIdempotencyRecords: 'forgets what is older than a day, of everyone; runs on all nodes',
  countMaterials: 'npm run verify, of everyone or of one',
  readHistories: 'npm run verify, of everyone or of one',
};
