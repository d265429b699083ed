// What a facade and a gateway do whose SERVICE_TOKEN the services refuse: the fault is ours, so nobody is told that their key is wrong.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccountsClients } from '../../services/programs/keys/clients.ts';
import { createApi } from '../support/api.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';
import { type Environment, startProcess } from '../support/processes.ts';
import { argumentsOf, type ServiceProcess, startService } from '../support/services.ts';

beforeAll(startAll);
afterAll(stopAll);

describe.each([
  ['a wrong token', { SERVICE_TOKEN: 'w'.repeat(32) }],
  ['no token', {}],
])('with %s', (_name, environment) => {
  test('the facade answers 503 to a valid key and is not ready, and accounts logs what it has refused', async () => {
    const rest = await start('rest', { ...targets, ...environment, OPS_PORT: '0' });
    const api = createApi(`http://${rest.target}/v1`, key, { mayBeUnavailable: true });
    for (let times = 0; times < 5; times += 1) {
      expect(await api.get('/me')).toMatchObject({
        status: 503,
        body: {
          error: {
            code: 'unavailable',
            message: 'The service cannot answer right now. Try again in a moment.',
          },
        },
      });
    }
    // A health check can be late on a busy machine; it is made again.
    await expect.poll(() => readiness(rest)).toEqual(NOT_READY('rest'));
    const lines = () => programs.find(({ name }) => name === 'accounts')?.lines() ?? [];
    const refused = () => lines().find(({ requestId }) => requestId === 'watch-revocations');
    await expect.poll(refused).toMatchObject({
      level: 30,
      tier: 'accounts',
      rpc: 'accounts.v1.ApiKeyService/WatchRevocations',
      caller: 'rest',
      status: 'UNAUTHENTICATED',
      reason: 'SERVICE_TOKEN',
      msg: 'call',
    });
  });

  test('npm run keys says that the token is refused, and not that accounts is away', async () => {
    const { ACCOUNTS_URL } = targets;
    expect(await listKeys({ ACCOUNTS_URL, ...environment })).toEqual([
      1,
      'unavailable: The service rejects the SERVICE_TOKEN of this program.\n',
    ]);
  });

  test('the gateway answers UNAVAILABLE and is not ready', async () => {
    const gateway = await start('gateway', {
      ...targets,
      ...environment,
      GATEWAY_TOKENS: `olga:operator:${GATEWAY_TOKEN}`,
      OPS_PORT: '0',
    });
    const id = '00000000-0000-7000-8000-000000000000';
    const query = `{ user(id: "${id}") { email } material(userId: "${id}", id: "${id}") { title } }`;
    for (let times = 0; times < 3; times += 1) {
      const answer = await fetch(`http://${gateway.target}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${GATEWAY_TOKEN}` },
        body: JSON.stringify({ query }),
      });
      expect(await answer.json()).toMatchObject({
        errors: [{ extensions: { code: 'UNAVAILABLE' } }, { extensions: { code: 'UNAVAILABLE' } }],
      });
    }
    await expect.poll(() => readiness(gateway)).toEqual(NOT_READY('gateway'));
  });
});

test('reminders are not ready', async () => {
  const reminders = await start('reminders', {
    ...targets,
    DATABASE_URL: database.databaseUrl,
    SERVICE_TOKEN: 'w'.repeat(32),
    OPS_PORT: '0',
    MAIL_DIR: join(tmpdir(), `no-mails-${process.pid}`),
    REMINDERS_HTTP_PORT: '0',
    PUBLIC_URL: 'https://remind.example.com',
  });
  await expect.poll(() => readiness(reminders)).toEqual(NOT_READY('reminders'));
});

test('npm run keys says where accounts does not answer, and what to do', async () => {
  expect(await listKeys({ ACCOUNTS_URL: '127.0.0.1:1', SERVICE_TOKEN: TOKEN })).toEqual([
    1,
    'unavailable: The accounts service at 127.0.0.1:1 does not answer. Start it ("npm start"), or set ACCOUNTS_URL.\n',
  ]);
});

test('with the right token the facade is ready', async () => {
  const rest = await start('rest', { ...targets, SERVICE_TOKEN: TOKEN, OPS_PORT: '0' });
  await expect.poll(() => readiness(rest)).toEqual([200]);
  expect((await createApi(`http://${rest.target}/v1`, key).get('/me')).status).toBe(200);
});

const TOKEN = 't'.repeat(32);
const GATEWAY_TOKEN = 'g'.repeat(32);
const CALL = { requestId: 'test' };
let database: TestDatabase;
const programs: ServiceProcess[] = [];
let targets: Record<string, string>;
let key: string;

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  const common = { DATABASE_URL: database.databaseUrl, SERVICE_TOKEN: TOKEN };
  const [accounts, scheduling] = await Promise.all([
    start('accounts', { ...common, KEY_PEPPER: `1:${'p'.repeat(32)}` }),
    start('scheduling', common),
  ]);
  targets = { ACCOUNTS_URL: accounts.target, SCHEDULING_URL: scheduling.target };
  const trust = { serviceTokens: [TOKEN], tls: undefined };
  const clients = createAccountsClients({ target: accounts.target, trust });
  const { user } = await clients.users.createUser({ email: 'ada@example.com' }, CALL);
  ({ key } = await clients.apiKeys.createApiKey({ userId: user?.userId ?? '' }, CALL));
  clients.close();
}

async function stopAll(): Promise<void> {
  await Promise.all(programs.map((program) => program.stop()));
  await database.drop();
}

/** Runs `npm run keys -- list`. @returns its exit code and what it says. */
async function listKeys(env: Environment) {
  const list = [...argumentsOf('keys'), 'list', '--email', 'ada@example.com'];
  const program = startProcess(process.execPath, list, { env });
  return [await program.ended, program.output()];
}

const start = async (...options: Parameters<typeof startService>) => {
  const program = await startService(...options);
  programs.push(program);
  return program;
};

const readiness = async ({ ops }: ServiceProcess) => {
  const answer = await fetch(`${ops}/ready`);
  const { reasons } = (await answer.json()) as { reasons: string[] };
  return [answer.status, ...reasons.filter((reason) => reason.includes('SERVICE_TOKEN'))];
};
const NOT_READY = (part: string) => [
  503,
  `${part}/scheduling: refuses our SERVICE_TOKEN`,
  `${part}/accounts: refuses our SERVICE_TOKEN`,
];
