// A server that only reads from now on, as a primary does that has become a standby: its connections are given up.
import { Client } from 'pg';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { openDatabase } from '../../services/platform/postgres/database.ts';
import { connected } from '../support/connected.ts';
import { createTestDatabase } from '../support/database.ts';

test.each([
  ['statement', false],
  ['transaction', true],
])(
  'a %s that a server which only reads refuses is 503, and the next one reaches the primary',
  async (_what, isTransaction) => {
    const place = await createTestDatabase();
    const administrator = new Client({ connectionString: place.databaseUrl });
    await administrator.connect();
    const name = new URL(place.databaseUrl).pathname.slice(1);
    await administrator.query(`CREATE TABLE written (value integer);
      ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const database = openDatabase({
      databaseUrl: place.databaseUrl,
      applicationName: 'demoted',
      maxConnections: 1,
      logger: pino({ level: 'silent' }),
      isPatient: true,
    });
    const insert = { text: 'INSERT INTO written VALUES (1)', values: [] };
    const write = () =>
      isTransaction
        ? database.transaction((transaction) => transaction.query(insert))
        : database.query(insert);
    await connected(() => database.query({ text: 'SELECT', values: [] }));
    await administrator.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);

    await expect(write()).rejects.toMatchObject({ reason: 'UNAVAILABLE', cause: { code: '25006' } });
    await expect(connected(write)).resolves.toEqual([]);
    await database.close();
    await administrator.end();
    await place.drop();
  },
);
