// A role that may not log in any more, as after a new password: the process goes on, and says so, until it is restarted.
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createReadiness } from '../../services/platform/observability/readiness.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { openServiceDatabase } from '../../services/platform/postgres/service-database.ts';
import { createTestDatabase } from '../support/database.ts';
import { root } from '../support/processes.ts';

test('requests without a connection are 503, the others go on, and a start stops at once with the remedy', async () => {
  const place = await createTestDatabase();
  const administrator = new Client({ connectionString: place.databaseUrl });
  await administrator.connect();
  const url = new URL(place.databaseUrl);
  url.username = url.pathname.replace('/test_', 'role_');
  url.password = 'secret';
  await administrator.query(`CREATE ROLE ${url.username} LOGIN SUPERUSER PASSWORD 'secret'`);
  onTestFinished(async () => {
    await administrator.query(`REASSIGN OWNED BY ${url.username} TO CURRENT_USER`);
    await administrator.query(`DROP OWNED BY ${url.username}; DROP ROLE ${url.username}`);
    await administrator.end();
    await place.drop();
  });
  const readiness = createReadiness();
  readiness.started();
  const service = { schema, logger, telemetry: { ...createTelemetry(), readiness } };
  const ofRole = { databaseUrl: url.href };
  const database = await openServiceDatabase({ place: ofRole, ...service });
  // Longer than a new connection may take: where one is refused, none is idle.
  const sleep = () => database.query({ text: 'SELECT pg_sleep(1)', values: [] });
  const atOnce = async (length: number) =>
    (await Promise.allSettled(Array.from({ length }, sleep))).toSorted(refusedLast);
  // Each is asked again where a busy machine did not open a connection within 0.75 s, or was late with a second of sleep.
  const fiveAtOnce = () => atOnce(5);
  await expect.poll(() => atOnce(4)).toMatchObject(Array(4).fill({ status: 'fulfilled' }));

  await administrator.query(`ALTER ROLE ${url.username} NOLOGIN`);
  await expect
    .poll(fiveAtOnce)
    .toMatchObject([
      ...Array(4).fill({ status: 'fulfilled' }),
      { status: 'rejected', reason: { reason: 'UNAVAILABLE', cause: { code: '28000' } } },
    ]);
  await expect
    .poll(() => readiness.report())
    .toMatchObject({
      ready: true,
      reasons: ['accounts/database: new connections are refused (28000)'],
    });
  const startedMs = performance.now();
  await expect(openServiceDatabase({ place: ofRole, ...service })).rejects.toThrow(
    /is not permitted to log in; put the right user and password into DATABASE_URL/,
  );
  // A server that is still starting is waited for so long.
  expect(performance.now() - startedMs).toBeLessThan(5000);

  await administrator.query(`ALTER ROLE ${url.username} LOGIN`);
  await expect.poll(fiveAtOnce).toMatchObject(Array(5).fill({ status: 'fulfilled' }));
  await expect.poll(async () => (await readiness.report()).reasons).toEqual([]);
  await database.close();
});

const logger = createLogger('test', 'silent');
const schema = { schema: 'accounts', directory: join(root, 'services/accounts/migrations') };

const refusedLast = (one: { status: string }, other: { status: string }) =>
  one.status.localeCompare(other.status);
