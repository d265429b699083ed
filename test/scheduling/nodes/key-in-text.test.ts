import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../../services/platform/logging/logger.ts';
import { NO_TELEMETRY } from '../../../services/platform/observability/telemetry.ts';
import { type Database, openDatabase, type Statement } from '../../../services/platform/postgres/database.ts';
import { withKeyInText } from '../../../services/scheduling/nodes/key-in-text.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const USER = '00000000-0000-7000-8000-000000000001';
let place: TestDatabase;
let database: Database;
/** The texts that traces show. */
const traced: unknown[] = [];

beforeAll(async () => {
  place = await createTestDatabase();
  const begin: typeof NO_TELEMETRY.tracing.begin = (span) => {
    traced.push(span.attributes?.['db.query.text']);
    return NO_TELEMETRY.tracing.begin(span);
  };
  database = openDatabase({
    ...{ databaseUrl: place.databaseUrl, applicationName: 'test', maxConnections: 1 },
    logger: createLogger('test', 'silent'),
    telemetry: { ...NO_TELEMETRY, tracing: { ...NO_TELEMETRY.tracing, begin } },
    forNode: withKeyInText,
  });
});
afterAll(async () => {
  await database.close();
  await place.drop();
});

type Row = { query: string; key: string; two: number; eleven: number; others: string; prepared: number };
/** The text of the statement as PostgreSQL has it, and how many statements the connection has prepared. */
const sent = async (statement: Omit<Statement, 'text'>, key: string) => {
  const text = `SELECT current_query() AS query, ${key} AS key, $2::integer AS two, $11::integer AS eleven,
    $3::text || $4::text || $5::text || $6::text || $7::text || $8::text || $9::text || $10::text AS others,
    (SELECT count(*) FROM pg_prepared_statements) AS prepared`;
  const [row] = await database.query<Row>({ ...statement, text });
  expect(traced.at(-1)).toBe(text);
  return row;
};
const OTHERS = [2, 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 11];

test('the key of a read stands in the text that a node gets, the other values keep their places, and traces show no key', async () => {
  const read = { name: 'read', keyInText: true, values: [USER, ...OTHERS] };
  const row = await sent(read, '$1::uuid');
  expect(row).toMatchObject({ key: USER, two: 2, eleven: 11, others: 'cdefghij', prepared: 0 });
  expect(row?.query).toContain(`'${USER}'::uuid AS key, $1::integer AS two, $10::integer AS eleven`);
});

test('other statements are prepared as they are, and so is one whose key is not a UUID', async () => {
  const other = await sent({ name: 'other', values: [USER, ...OTHERS] }, '$1::uuid');
  expect(other).toMatchObject({ key: USER, two: 2, eleven: 11, prepared: 1 });
  expect(other?.query).toContain('$1::uuid AS key, $2::integer AS two');
  const injected = "'; DROP TABLE materials; --";
  const text = await sent({ name: 'text', keyInText: true, values: [injected, ...OTHERS] }, '$1::text');
  expect(text).toMatchObject({ key: injected, two: 2, eleven: 11, prepared: 2 });
});
