// A connection that PostgreSQL ends: a warning while the pool is in use, nothing while it closes.

import { Client } from 'pg';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { openDatabase } from '../../services/platform/postgres/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

test('an idle connection that PostgreSQL ends is a warning, but not one whose pool is closing', async () => {
  const place = await createTestDatabase();
  const url = new URL(place.databaseUrl);
  const proxy = await startTcpProxy(Number(url.port));
  url.port = `${proxy.port}`;
  const warnings: unknown[] = [];
  const open = async (applicationName: string) => {
    const logger = pino(
      { base: { applicationName } },
      { write: (line) => void warnings.push(JSON.parse(line)) },
    );
    const database = openDatabase({
      databaseUrl: url.href,
      applicationName,
      maxConnections: 1,
      logger,
      isPatient: true,
    });
    await database.query({ text: 'SELECT 1', values: [] });
    return database;
  };
  const closing = await open('closing');
  const inUse = await open('in-use');
  const administrator = new Client({ connectionString: place.databaseUrl });
  await administrator.connect();
  // What PostgreSQL says is on its way when the pool begins to close.
  proxy.hold();
  await administrator.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name IN ('closing', 'in-use')",
  );
  const closed = closing.close();
  proxy.release();
  await closed;
  await expect.poll(() => warnings).toHaveLength(1);
  expect(warnings).toMatchObject([
    {
      applicationName: 'in-use',
      msg: 'idle database connection lost',
      err: { message: 'terminating connection due to administrator command' },
    },
  ]);
  expect(warnings[0]).not.toHaveProperty('err.client');
  await inUse.close();
  await administrator.end();
  await proxy.stop();
  await place.drop();
});
