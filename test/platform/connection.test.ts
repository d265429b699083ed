// A connection outside the pool: what is left of it, and what becomes of a program whose connection is lost.
import { expect, inject, test } from 'vitest';
import { withConnection } from '../../services/platform/postgres/connection.ts';

test('a connection ends with the work, also where that fails', async () => {
  const work = withConnection({ connectionString, application_name }, async () => open());
  expect(await work).toBe(1);
  const failed = withConnection({ connectionString, application_name }, () =>
    Promise.reject(new Error('no')),
  );
  await expect(failed).rejects.toThrow('no');
  await expect.poll(open).toBe(0);
});

test('a lost connection fails the work, not the process', async () => {
  const work = withConnection({ connectionString }, async (client) => {
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    await withConnection({ connectionString }, (other) =>
      other.query('SELECT pg_terminate_backend($1)', [rows[0].pid]),
    );
    await ended;
    return client.query('SELECT 1');
  });
  await expect(work).rejects.toThrow('not queryable');
});

const connectionString = inject('postgresUrl');
const application_name = 'connection-test';

const open = () =>
  withConnection({ connectionString }, async (client) => {
    const { rows } = await client.query(
      'SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = $1',
      [application_name],
    );
    return rows[0].count;
  });
