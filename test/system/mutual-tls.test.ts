import { readFileSync } from 'node:fs';
import { type ChannelCredentials, Client, credentials, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { certificateCheck } from '../../services/platform/process/certificate-dates.ts';
import { createAccountsClients } from '../../services/programs/keys/clients.ts';
import { createApi } from '../support/api.ts';
import { type Certificates, makeCertificates } from '../support/certificates.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { newSecret, type ServiceProcess, startService } from '../support/services.ts';
import { ALL_SCOPES } from '../support/system.ts';

beforeAll(startAll);
afterAll(stopAll);

describe('with mutual TLS', () => {
  test('the whole way from HTTP to PostgreSQL works', async () => {
    const { authority, key, certificate } = files(ours);
    const tls = { authority, key, certificate };
    const clients = createAccountsClients({ target: accounts.target, trust: { serviceTokens: [], tls } });
    const { user } = await clients.users.createUser({ email: 'tls@example.com' }, CALL);
    const userId = user?.userId ?? '';
    const made = await clients.apiKeys.createApiKey({ userId, scopes: ALL_SCOPES }, CALL);
    clients.close();
    const api = createApi(`${rest.origin}/v1`, made.key);
    const { id } = await api.create({ title: 'Over TLS' });
    expect((await api.post(`/reviews/${id}`, { quality: 5 })).status).toBe(200);
  });

  test('one who belongs is answered: refused in words, served health and reflection', async () => {
    const { authority, key, certificate } = files(ours);
    const channel = () => credentials.createSsl(authority, key, certificate);
    const [materials = '', health = ''] = PATHS;
    expect(await statusOf(scheduling.target, channel(), materials)).toBe('INVALID_ARGUMENT');
    expect(await statusOf(scheduling.target, channel(), health)).toBe('OK');
  });

  test('a process whose certificate ends within 14 days is degraded, and says what to do', async () => {
    const response = await fetch(`${rest.ops}/ready`);
    const { checks } = (await response.json()) as { checks: { name: string }[] };
    expect(response.status).toBe(200);
    expect(checks.find(({ name }) => name === 'process/certificate')).toEqual({
      name: 'process/certificate',
      state: 'degraded',
      reason: expect.stringMatching(/^valid for 1 more days, until \d{4}-\d\d-\d\d$/),
      remedy: 'issue a new certificate, put it into the file, and restart the services in turn',
    });
  });

  const PATHS = [
    '/scheduling.v1.MaterialService/ListMaterials',
    '/grpc.health.v1.Health/Check',
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  ];

  test.each(PATHS)(
    '%s gives nothing to one without a certificate, with a foreign one, or without TLS',
    async (path) => {
      const { authority } = files(ours);
      const foreignFiles = files(foreign);
      for (const channel of [
        credentials.createSsl(authority),
        credentials.createSsl(authority, foreignFiles.key, foreignFiles.certificate),
        credentials.createInsecure(),
      ]) {
        expect(await statusOf(scheduling.target, channel, path)).toBe('UNAVAILABLE');
        expect(await statusOf(accounts.target, channel, path)).toBe('UNAVAILABLE');
      }
    },
  );
});

test.each([
  [15, 'ok'],
  [14, 'warning'],
])('a certificate that ends in %i days is %s', async (days, state) => {
  const { environment, remove } = makeCertificates({ days });
  expect(await certificateCheck(readFileSync(environment.GRPC_TLS_CERT)).run(undefined)).toMatchObject({
    state,
  });
  remove();
});

let ours: Certificates;
let foreign: Certificates;
let database: TestDatabase;
let accounts: ServiceProcess;
let scheduling: ServiceProcess;
let rest: ServiceProcess;
const CALL = { requestId: 'test' };

async function startAll(): Promise<void> {
  ours = makeCertificates();
  foreign = makeCertificates();
  database = await createTestDatabase();
  const environment = { DATABASE_URL: database.databaseUrl, ...ours.environment };
  // Beyond loopback, which mutual TLS allows without a token.
  [accounts, scheduling] = await Promise.all([
    startService('accounts', { ...environment, HOST: '0.0.0.0', KEY_PEPPER: `1:${newSecret()}` }),
    startService('scheduling', { ...environment, HOST: '0.0.0.0' }),
  ]);
  rest = await startService('rest', {
    ...ours.environment,
    OPS_PORT: '0',
    ACCOUNTS_URL: accounts.target,
    SCHEDULING_URL: scheduling.target,
  });
}

async function stopAll(): Promise<void> {
  for (const service of [rest, accounts, scheduling]) await service?.kill();
  await database.drop();
  ours.remove();
  foreign.remove();
}

/** What a call with empty bytes to `path` fails with. */
function statusOf(target: string, channel: ChannelCredentials, path: string): Promise<string> {
  const client = new Client(target, channel, { 'grpc.initial_reconnect_backoff_ms': 100_000 });
  const bytes = { serialize: (value: Buffer) => value, deserialize: (value: Buffer) => value };
  return new Promise((resolve) => {
    const deadline = Date.now() + 5000;
    client.makeUnaryRequest(
      path,
      bytes.serialize,
      bytes.deserialize,
      Buffer.alloc(0),
      { deadline },
      (error) => {
        client.close();
        resolve(status[error?.code ?? 0] ?? 'unknown');
      },
    );
  });
}

const files = ({ environment }: Certificates) => ({
  authority: readFileSync(environment.GRPC_TLS_CA),
  key: readFileSync(environment.GRPC_TLS_KEY),
  certificate: readFileSync(environment.GRPC_TLS_CERT),
});
