// npm run migrate -- --distribute, and what scheduling does on distributed tables. Citus itself is not part of the project and
// cannot be installed by its tests: what the command calls and reads of it is stood in for.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../services/platform/postgres/database.ts';
import {
  DISTRIBUTED_TABLES,
  distributeScheduling,
  isDistributed,
} from '../../services/scheduling/distribute.ts';
import { gatheredOn } from '../../services/scheduling/gathered.ts';
import { createMaterialHandlers } from '../../services/scheduling/materials/handlers.ts';
import { openPool } from '../support/database.ts';
import { newUserId, startTestScheduling, type TestScheduling } from '../support/scheduling.ts';

beforeAll(startAll);
afterAll(() => here.stop());

test('--help says what the command does and how it exits', async () => {
  const { code, stdout } = await run('--help');
  expect(code).toBe(0);
  expect(stdout).toMatch(/--distribute .*\n.*[\s\S]*Exits with 0 .* 1 .* 2 if --distribute finds no Citus/);
});

describe('--distribute', () => {
  test('brings a database without Citus up to date, says that nothing is distributed, and exits with 2', async () => {
    const { code, stdout, stderr } = await run('--distribute');
    expect(stdout).toMatch(
      /^accounts: .*\nscheduling: up to date\nreminders: .*\nApplied \d+ migrations? in .*\n$/,
    );
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(
        /^Nothing is distributed: the database of DATABASE_URL lacks the extension citus/,
      ),
    ]);
  });

  test('distributes all tables beside each other or none, once', async () => {
    const database = openPool(here.databaseUrl);
    expect(await isDistributed(database)).toBe(false);
    await here.sql.query(STAND_IN);
    expect(await isDistributed(database)).toBe(false);
    const read = async (text: string) => (await here.sql.query({ text, rowMode: 'array' })).rows.flat();

    // A failure half-way leaves nothing.
    await here.sql.query(
      `ALTER TABLE pg_dist_partition ADD CONSTRAINT broken CHECK (logicalrelid <> 'scheduling.snoozes'::regclass)`,
    );
    await expect(distributeScheduling(here.databaseUrl)).rejects.toThrow(/broken/);
    expect(await read('SELECT count(*) FROM pg_dist_partition')).toEqual([0]);
    await here.sql.query('ALTER TABLE pg_dist_partition DROP CONSTRAINT broken');

    const [one, other] = await Promise.all([run('--distribute'), run('--distribute')]);
    const said = [one.stdout, other.stdout].map((text) => text.split('\n').at(-2)).toSorted();
    expect(said).toEqual([
      'scheduling: already distributed',
      `scheduling: distributed ${DISTRIBUTED_TABLES.join(', ')}`,
    ]);
    expect(await read('SELECT beside FROM pg_dist_partition')).toEqual([
      'user_id beside none',
      ...DISTRIBUTED_TABLES.slice(1).map(() => 'user_id beside scheduling.materials'),
    ]);
    const functions = await read('SELECT name FROM told_functions');
    expect(functions).toEqual(expect.arrayContaining(['scheduling.user_lock', 'scheduling.insert_material']));
    // Two each of apply_review and insert_material: those of the release before stay.
    expect(new Set(functions).size).toBe(functions.length - 2);
    expect(await isDistributed(database)).toBe(true);
    const delegated = await read(
      `SELECT objid::regproc || ' by argument ' || distribution_argument_index FROM pg_dist_object`,
    );
    expect(new Set(delegated)).toEqual(
      new Set(['scheduling.apply_review by argument 0', 'scheduling.insert_material by argument 0']),
    );
    await database.close();
    // A service that starts now finds it out by itself.
    await (await here.startAnother()).stop();
  });
});

describe('the lists of several users', () => {
  /** What is listed in a batch of three users, and the statements for it. */
  async function listed(isDistributed: boolean) {
    const database = openPool(here.databaseUrl, 2);
    const texts: string[] = [];
    const listening: Database = {
      ...database,
      query(statement) {
        texts.push(statement.text);
        return database.query(statement);
      },
    };
    const now = () => new Date();
    const dependencies = { database: listening, now, wallClock: now, newId: () => '' };
    const gathered = gatheredOn(listening, { isDistributed });
    const handlers = createMaterialHandlers({ ...dependencies, gathered, isDistributed });
    // As gRPC hands them over, with every field.
    const common = { pageSize: 10, pageToken: '' };
    const states = {
      state: 'MATERIAL_STATE_UNSPECIFIED',
      type: 'MATERIAL_TYPE_UNSPECIFIED',
      due: 'DUE_STATE_UNSPECIFIED',
      view: 'MATERIAL_VIEW_UNSPECIFIED',
      order: 'MATERIAL_ORDER_UNSPECIFIED',
    } as const;
    const requests = users.map((userId) => ({
      ...common,
      ...states,
      userId,
      query: '',
      labels: [],
      leechesOnly: false,
    }));
    const context = {
      requestId: 'test',
      traceparent: undefined,
      caller: 'test',
      signal: new AbortController().signal,
    };
    const lists = [
      await Promise.all(requests.map((request) => handlers.ListMaterials(request, context))),
      await Promise.all(requests.map((request) => handlers.ListDueMaterials(request, context))),
    ];
    await database.close();
    const titles = lists.map((responses) =>
      responses.map(({ materials }) => materials?.map(({ title }) => title)),
    );
    return {
      titles,
      lateral: texts.filter((text) => text.includes('LATERAL')).length,
      statements: texts.length,
    };
  }

  test('are read by one statement on one PostgreSQL, and by one each where users lie on different nodes', async () => {
    const newest = users.map((_, index) => [`two of ${index}`, `one of ${index}`]);
    const due = newest.map((titles) => titles.toReversed());
    expect(await listed(false)).toEqual({ titles: [newest, due], lateral: 2, statements: 2 });
    expect(await listed(true)).toEqual({ titles: [newest, due], lateral: 0, statements: 6 });
  });
});

const script = join(import.meta.dirname, '../../services/programs/migrate.ts');

const users = [newUserId(), newUserId(), newUserId()];
let here: TestScheduling;

async function startAll(): Promise<void> {
  here = await startTestScheduling();
  for (const [index, userId] of users.entries())
    for (const title of ['one', 'two']) await here.create(userId, `${title} of ${index}`);
}

/** What PostgreSQL with the extension has as far as the command looks, noting who asks for what. */
const STAND_IN = `
  CREATE TABLE pg_dist_partition (logicalrelid regclass PRIMARY KEY, partmethod "char", beside text);
  CREATE TABLE told_functions (name text);
  CREATE FUNCTION create_distributed_table(t regclass, column_name text, colocate_with text) RETURNS void
    LANGUAGE sql AS $$ INSERT INTO pg_dist_partition VALUES (t, 'h', column_name || ' beside ' || colocate_with) $$;
  CREATE FUNCTION create_distributed_function(f regprocedure) RETURNS void
    LANGUAGE sql AS $$ INSERT INTO told_functions VALUES (f::regproc::text) $$;
  CREATE TABLE pg_dist_object (objid oid, distribution_argument_index integer);
  CREATE FUNCTION create_distributed_function(f regprocedure, argument text, colocate_with text) RETURNS void
    LANGUAGE sql AS $$ INSERT INTO pg_dist_object
      SELECT f, array_position(proargnames, argument) - 1 FROM pg_proc WHERE oid = f $$;
  SET allow_system_table_mods = on;
  INSERT INTO pg_extension SELECT 4000000000, 'citus', extowner, extnamespace, false, '1', NULL, NULL
    FROM pg_extension WHERE extname = 'plpgsql'`;

const run = async (...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> => {
  const env = { PATH: process.env.PATH, DATABASE_URL: here.databaseUrl };
  const {
    stdout,
    stderr,
    code = 0,
  } = await promisify(execFile)(process.execPath, [script, ...args], { env }).catch((error) => error);
  return { code, stdout, stderr };
};
