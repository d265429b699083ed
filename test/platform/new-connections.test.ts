// What requests notice of connections to PostgreSQL that are slow to open: as little as possible.
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { openDatabase } from '../../services/platform/postgres/database.ts';
import { openServiceDatabase } from '../../services/platform/postgres/service-database.ts';
import { connected } from '../support/connected.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { root } from '../support/processes.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

beforeAll(prepare);
afterAll(() => place.drop());

test('a service has opened four connections before it is ready', async () => {
  const schema = { schema: 'accounts', directory: join(root, 'services/accounts/migrations') };
  const watcher = new Client({ connectionString: place.databaseUrl });
  await watcher.connect();
  onTestFinished(() => watcher.end());
  const countOpen = async () => {
    const { rows } = await watcher.query<{ open: number }>(
      `SELECT count(*)::int AS open FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'accounts'`,
    );
    return rows[0]?.open;
  };
  const openOnce = async () => {
    await expect.poll(countOpen).toBe(0);
    const database = await openServiceDatabase({ place, schema, logger, telemetry: createTelemetry() });
    const open = await countOpen();
    await database.close();
    return open;
  };
  // Again where one could not be opened within 0.75 s on a busy machine: that one is left out.
  await expect.poll(openOnce).toBe(4);
});

test('a request whose new connection is late is answered through one that is idle meanwhile', async () => {
  const url = new URL(place.databaseUrl);
  const proxy = await startTcpProxy(Number(url.port));
  url.port = `${proxy.port}`;
  const database = openDatabase({
    databaseUrl: url.href,
    applicationName: 'test',
    maxConnections: 2,
    logger,
  });
  await connected(() => database.query({ text: 'SELECT 1', values: [] }));
  proxy.holdNew();
  const askBoth = async () => {
    const first = database.query({ text: 'SELECT pg_sleep(0.2)', values: [] });
    const second = database.query({ text: 'SELECT 2 AS two', values: [] });
    return (await Promise.all([first, second]))[1];
  };
  // Again where the first took longer than 0.75 s on a busy machine, so that none was idle for the second.
  await expect.poll(askBoth).toEqual([{ two: 2 }]);
  proxy.release();
  await database.close();
  await proxy.stop();
});

test('a command waits longer than a service for a connection, a statement, a lock and its own work', async () => {
  const url = new URL(place.databaseUrl);
  const proxy = await startTcpProxy(Number(url.port));
  url.port = `${proxy.port}`;
  const options = { databaseUrl: url.href, applicationName: 'test', maxConnections: 1, logger };
  const [service, command] = [openDatabase(options), openDatabase({ ...options, isPatient: true })];
  onTestFinished(async () => {
    await Promise.all([service.close(), command.close()]);
    await proxy.stop();
  });
  proxy.holdNew();
  const names = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
  const asked = command.query({
    text: 'SELECT current_setting(name) AS value FROM unnest($1::text[]) AS asked (name)',
    values: [names],
  });
  // Once the one is refused, the other has waited as long.
  await expect(service.query({ text: 'SELECT 1', values: [] })).rejects.toMatchObject({
    reason: 'UNAVAILABLE',
  });
  proxy.release();
  expect(await asked).toEqual([{ value: '1min' }, { value: '1min' }, { value: '1min' }]);
  const transaction = command.transaction(async (session) => {
    await session.query({ text: 'SELECT pg_sleep(2.1)', values: [] });
    return 'committed';
  });
  expect(await transaction).toBe('committed');
});

describe('a service whose DATABASE_URL leads to a pooler, and DATABASE_SESSION_URL to PostgreSQL itself', () => {
  const schema = { schema: 'scheduling', directory: join(root, 'services/scheduling/migrations') };
  const openWith = (databaseSessionUrl: string | undefined) =>
    connected(() =>
      openServiceDatabase({
        place: { databaseUrl: place.databaseUrl, databaseSessionUrl },
        schema,
        logger,
        telemetry: createTelemetry(),
      }),
    );

  test('migrates over the second, and leaves nothing open if that does not answer', async () => {
    const nowhere = Object.assign(new URL(place.databaseUrl), { host: '127.0.0.1:1' });
    await expect(openWith(nowhere.href)).rejects.toThrow(
      /^the database 127\.0\.0\.1:1\/.* cannot be used: .* correct host and port in DATABASE_SESSION_URL$/,
    );
    const watcher = new Client({ connectionString: place.databaseUrl });
    await watcher.connect();
    const isOpen = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'scheduling%'`;
    await expect.poll(async () => (await watcher.query(isOpen)).rowCount).toBe(0);
    await watcher.end();
  });

  test.each([
    ['nothing, since its statements share sessions', () => place.databaseUrl, []],
    ['its statements where there is no pooler', () => undefined, [{ name: 'answer' }]],
  ])('prepares %s', async (_what, sessionUrl, prepared) => {
    const database = await openWith(sessionUrl());
    const found = database.transaction(async (session) => {
      await session.query({ name: 'answer', text: 'SELECT 42', values: [] });
      return session.query({ text: 'SELECT name FROM pg_prepared_statements', values: [] });
    });
    expect(await found).toEqual(prepared);
    await database.close();
  });
});

const logger = createLogger('test', 'silent');

let place: TestDatabase;

async function prepare(): Promise<void> {
  place = await createTestDatabase();
}
