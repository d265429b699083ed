// One whole trace, from a caller's traceparent to the SQL, as a collector receives it from four processes.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAccountsClients } from '../../services/programs/keys/clients.ts';
import { createApi } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type ServiceProcess, startService } from '../support/services.ts';

beforeAll(startAll);
afterAll(stopAll);

test('a review is one trace from the caller through HTTP and gRPC to each statement, and holds nothing private', async () => {
  const { api, key, userId, gateway, end } = await startFour({ OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/` });
  const { id } = await api.create({ title: SECRET, content: SECRET });
  const headers = {
    traceparent: `00-${TRACE_ID}-${CALLER_SPAN}-01`,
    tracestate: 'vendor=a1',
    baggage: `note=${SECRET}`,
    'x-request-id': 'traced-review',
  };
  await api.post(`/reviews/${id}`, { quality: 5 }, { headers });
  await api.get(`/search?q=${SECRET}`, { headers: { authorization: `Bearer ${key}` } });
  const gatewayTrace = TRACE_ID.replace('4b', '5c');
  const asked = await fetch(gateway, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${TOKEN}`,
      traceparent: `00-${gatewayTrace}-${CALLER_SPAN}-01`,
    },
    body: JSON.stringify({
      query: `query ($id: ID!) {
        user(id: $id) { materials(first: 5) { nodes { title reviews(first: 1) { nodes { quality } } } } }
      }`,
      variables: { id: userId },
    }),
  });
  expect(await asked.json()).toMatchObject({ data: { user: { materials: { nodes: [{ title: SECRET }] } } } });
  // What is not sent yet is sent before a process ends.
  await end();

  const ours = spans.filter(({ traceId }) => traceId === TRACE_ID);
  const one = (service: string, name: string) => {
    const found = ours.filter((span) => span.service === service && span.name === name);
    expect(found.length, `${service} ${name} of ${JSON.stringify(ours.map((span) => span.name))}`).toBe(1);
    return found[0] as Span;
  };
  const rpc = 'scheduling.v1.ReviewService/SubmitReview';
  const http = one('rest', 'POST /v1/reviews/:materialId');
  const sent = one('rest', rpc);
  const served = one('scheduling', rpc);
  expect([http.kind, http.parentSpanId]).toEqual([SERVER, CALLER_SPAN]);
  expect([sent.kind, sent.parentSpanId]).toEqual([CLIENT, http.spanId]);
  expect([served.kind, served.parentSpanId]).toEqual([SERVER, sent.spanId]);
  expect([http, sent, served].map(({ traceState }) => traceState)).toEqual(Array(3).fill('vendor=a1'));
  const statements = ours.filter((span) => span.parentSpanId === served.spanId);
  expect(statements.length).toBeGreaterThanOrEqual(2);
  for (const { service, kind, attributes } of statements) {
    expect([service, kind]).toEqual(['scheduling', CLIENT]);
    expect(attributes).toContainEqual({ key: 'db.system.name', value: { stringValue: 'postgresql' } });
  }
  const isFollowed = (span: Span) =>
    span.parentSpanId === CALLER_SPAN || ours.some(({ spanId }) => spanId === span.parentSpanId);
  expect(ours.filter((span) => !isFollowed(span))).toEqual([]);
  const attribute = (key_: string) => http.attributes.find((each) => each.key === key_)?.value;
  expect(attribute('srs.request_id')).toEqual({ stringValue: 'traced-review' });
  expect(attribute('http.response.status_code')).toEqual({ intValue: 200 });

  const [tool] = spans.filter(({ traceId, name }) => traceId === gatewayTrace && name === 'POST /graphql');
  const rpcs = spans.filter(
    ({ service, parentSpanId }) => service === 'gateway' && parentSpanId === tool?.spanId,
  );
  expect(rpcs.map(({ name }) => name)).toEqual([
    'accounts.v1.UserService/BatchGetUsers',
    'scheduling.v1.MaterialService/ListMaterials',
    'scheduling.v1.ReviewService/BatchListReviews',
  ]);

  const all = bodies.join('');
  expect(all).toContain('GET /v1/search');
  for (const private_ of [SECRET, key, key.slice(9, 40), id, userId, TOKEN])
    expect(all).not.toContain(private_);
});

test('a collector that does not answer keeps no program from ending regularly', async () => {
  const mute = createServer(() => {});
  await once(mute.listen(0, '127.0.0.1'), 'listening');
  const { port } = mute.address() as AddressInfo;
  // Each export alone may take 10 s.
  const rest = await startService('rest', {
    ACCOUNTS_URL: '127.0.0.1:1',
    SCHEDULING_URL: '127.0.0.1:1',
    SHUTDOWN_TIMEOUT_MS: '8000',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  });
  expect((await fetch(`${rest.origin}/v1/me`)).status).toBe(401);
  expect(await rest.stop()).toBe(0);
  mute.closeAllConnections();
  mute.close();
});

test('nothing of OpenTelemetry but its API is loaded where no traces are asked for', async () => {
  const { api, end } = await startFour({});
  expect((await api.get('/materials')).status).toBe(200);
  const packages = await end();
  expect(packages.map((names) => names.includes('@grpc/grpc-js'))).toEqual([true, true, true, true]);
  expect(packages.flat().filter(isSdk)).toEqual([]);
});

const [SERVER, CLIENT] = [2, 3];
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER_SPAN = '00f067aa0ba902b7';
const SECRET = 'no-word-of-this-may-be-told';
const PRELOAD = './test/platform/fixtures/loaded-packages.mjs';

const spans: Span[] = [];
const bodies: string[] = [];
const collector = createServer(async (request, response) => {
  const text = await textOf(request);
  if (request.url === '/v1/traces') {
    bodies.push(text);
    for (const { resource, scopeSpans } of (JSON.parse(text) as Export).resourceSpans) {
      const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '';
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) spans.push({ service, ...span });
    }
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
});

let database: TestDatabase;
let endpoint: string;
const running: ServiceProcess[] = [];

async function startAll(): Promise<void> {
  database = await createTestDatabase();
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const address = collector.address();
  endpoint = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

async function stopAll(): Promise<void> {
  await Promise.all(running.map((program) => program.stop()));
  collector.close();
  collector.closeAllConnections();
  await database.drop();
}

const TOKEN = 'g'.repeat(40);

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}

async function startFour(environment: Record<string, string>) {
  const common = { DATABASE_URL: database.databaseUrl, ...environment };
  const options = { flags: ['--import', PRELOAD] };
  const [accounts, scheduling] = await Promise.all([
    startService('accounts', { ...common, KEY_PEPPER: `1:${'p'.repeat(32)}` }, options),
    startService('scheduling', common, options),
  ]);
  const peers = { ACCOUNTS_URL: accounts.target, SCHEDULING_URL: scheduling.target };
  const tokens = { GATEWAY_TOKENS: `olga:viewer:${TOKEN}` };
  const [rest, gateway] = await Promise.all([
    startService('rest', { ...environment, ...peers }, options),
    startService('gateway', { ...environment, ...peers, ...tokens }, options),
  ]);
  const programs = [accounts, scheduling, rest, gateway];
  running.push(...programs);
  const clients = createAccountsClients({
    target: accounts.target,
    trust: { serviceTokens: [], tls: undefined },
  });
  const { user } = await clients.users.createUser(
    { email: `${Math.random()}@example.com` },
    { requestId: 't' },
  );
  const scopes = ['materials:read', 'materials:write', 'reviews:write'];
  const { key } = await clients.apiKeys.createApiKey(
    { userId: user?.userId ?? '', scopes },
    { requestId: 't' },
  );
  clients.close();
  const api = createApi(`http://${rest.target}/v1`, key);
  const end = async () => {
    for (const program of programs.toReversed()) expect(await program.stop()).toBe(0);
    return programs.map((program): string[] =>
      JSON.parse(program.stdout().trim().split('\n').at(-1) ?? '[]'),
    );
  };
  return { api, key, userId: user?.userId ?? '', gateway: `http://${gateway.target}/graphql`, end };
}

type Attribute = { key: string; value: { stringValue?: string; intValue?: number } };
type Span = {
  service: string;
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  attributes: Attribute[];
  status?: { code?: number };
};
type Export = {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: Omit<Span, 'service'>[] }[];
  }[];
};

const isSdk = (name: string) => name.startsWith('@opentelemetry/') && name !== '@opentelemetry/api';
