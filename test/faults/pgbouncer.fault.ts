// Promise: behind PgBouncer, in either mode, no request fails, and a pooler that drops our settings is refused at start.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { root, startProcess } from '../support/processes.ts';
import { newSecret } from '../support/services.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { startLoad, type Use } from './support/load.ts';
import { createPooledRole, hasPgBouncer, startPgBouncer } from './support/pgbouncer.ts';
import { sized } from './support/rounds.ts';

const isPossible = hasPgBouncer();

describe.skipIf(!isPossible).each(['session', 'transaction'] as const)(
  'behind PgBouncer in %s mode',
  (mode) => {
    let database: TestDatabase;
    let role: Awaited<ReturnType<typeof createPooledRole>>;
    let bouncer: Awaited<ReturnType<typeof startPgBouncer>>;
    let here: Deployment | undefined;
    const KEY_PEPPER = `1:${newSecret()}`;

    beforeAll(async () => {
      database = await createTestDatabase();
      role = await createPooledRole(database.databaseUrl);
      bouncer = await startPgBouncer(role.databaseUrl, mode);
    });
    afterAll(async () => {
      await here?.stop();
      await bouncer?.stop();
      await database?.drop();
      await role?.drop();
    });

    test('a service refuses to start while the pooler drops its settings, and says how to set them', async () => {
      const env = { DATABASE_URL: bouncer.databaseUrl, SCHEDULING_PORT: '0' };
      const service = startProcess(process.execPath, [`${root}/services/scheduling/main.ts`], { env });
      expect(await service.ended).not.toBe(0);
      expect(service.output()).toContain('statement_timeout is 0, lock_timeout is 0');
      expect(service.output()).toContain("ALTER ROLE user SET statement_timeout = '1500ms';");
    });

    test('no request fails once its role has the settings', async () => {
      // An attempt before this one has left its services, and keys of its pepper.
      await here?.stop();
      here = undefined;
      await role.takeSettings();
      await bouncer.stop();
      bouncer = await startPgBouncer(role.databaseUrl, mode);
      here = await startDeployment({
        replicas: { accounts: 1, scheduling: 2, rest: 1 },
        databaseUrl: bouncer.databaseUrl,
        environment: {
          KEY_PEPPER,
          ...(mode === 'transaction' && { DATABASE_SESSION_URL: role.databaseUrl }),
        },
      });
      const { key } = await here.createKey();
      const ids = await here.createMaterials(key, 20);
      let turn = 0;
      const next = (): Use => {
        turn += 1;
        const id = ids[turn % ids.length];
        const uses: Use[] = [
          { method: 'POST', path: `/reviews/${id}`, key, json: { quality: turn % 6 } },
          { method: 'GET', path: '/reviews/due', key },
          { method: 'GET', path: '/materials?q=t', key },
          { method: 'POST', path: '/materials', key, json: { title: `T ${turn}` } },
          {
            ...{ method: 'POST', path: `/materials/${id}/snooze`, key },
            headers: { 'idempotency-key': `k${turn}` },
            json: { snoozeUntil: '2099-01-01T00:00:00Z' },
          },
        ];
        return uses[turn % uses.length] as Use;
      };
      const load = startLoad({ origins: here.origins, workers: 24, pauseMs: 5, next });
      await expect.poll(load.answered, { timeout: 300_000 }).toBeGreaterThan(sized(5000));
      expect(await load.stop()).toEqual([]);
    });

    test('a revoked key is refused at once', async () => {
      if (here === undefined) throw new Error('the services did not start');
      const { key, apiKeyId } = await here.createKey();
      const status = async () =>
        (await fetch(`${here?.origins[0]}/v1/me`, { headers: { authorization: `Bearer ${key}` } })).status;
      expect(await status()).toBe(200);
      await here.clients.apiKeys.revokeApiKey({ apiKeyId }, { requestId: 'fault' });
      await expect.poll(status).toBe(401);
      const ready = here.accounts[0]?.log() ?? '';
      expect(ready).not.toContain('revocation listener lost');
    });
  },
);
