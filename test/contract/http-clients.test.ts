// What HTTP clients expect beside the contract: HEAD, CORS, entity tags, compression, and IDs in either case.
import { randomUUID } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Api, createApi } from '../support/api.ts';
import { OPERATOR, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { ENDPOINTS } from './spec.ts';

beforeAll(startAll);
afterAll(stopAll);

describe('HEAD', () => {
  test('is answered as GET, without the body, on every path that has GET', async () => {
    const paths = ENDPOINTS.filter(({ method }) => method === 'GET').map(({ path }) => `/v1${path}?q=a`);
    for (const path of [...paths, '/openapi.json', '/docs']) {
      const headers = { authorization: `Bearer ${key}` };
      const [head, get] = [
        await fetch(origin + path, { method: 'HEAD', headers }),
        await fetch(origin + path, { headers }),
      ];
      expect([head.status, await head.text()], path).toEqual([200, '']);
      expect(head.headers.get('content-type'), path).toBe(get.headers.get('content-type'));
    }
  });

  test('needs a key as GET does, and is 404 where there is no GET', async () => {
    expect((await fetch(`${origin}/v1/me`, { method: 'HEAD' })).status).toBe(401);
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(`${origin}/v1/reviews/x`, { method: 'HEAD', headers })).status).toBe(404);
  });

  test('is answered on the pages of the gateway', async () => {
    for (const path of ['/', '/dashboard', '/graphiql/react.js'])
      expect((await fetch(gateway.origin + path, { method: 'HEAD' })).status, path).toBe(200);
  });
});

describe('a page of another origin', () => {
  const preflight = (target: TestSystem, page: string, path = '/v1/materials') =>
    fetch(`${target.origins[0]}${path}`, {
      method: 'OPTIONS',
      headers: {
        origin: page,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,idempotency-key',
      },
    });

  test('is refused unless CORS_ORIGINS names it', async () => {
    for (const refused of [
      await preflight(system, PAGE),
      await preflight(withCors, 'https://app.example.com.evil.test'),
      await preflight(withCors, 'http://app.example.com'),
      await preflight(withCors, 'null'),
    ]) {
      expect(refused.status).toBe(404);
      expect(refused.headers.get('access-control-allow-origin')).toBeNull();
    }
    const { headers } = await fetch(`${origin}/v1/me`, { headers: { origin: PAGE } });
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  test('that is named may send what the API takes', async () => {
    for (const page of [PAGE, 'http://127.0.0.1:5173']) {
      const allowed = await preflight(withCors, page);
      expect([allowed.status, await allowed.text()]).toEqual([204, '']);
      expect(Object.fromEntries(allowed.headers)).toMatchObject({
        'access-control-allow-origin': page,
        'access-control-allow-methods': 'GET, HEAD, POST',
        'access-control-allow-headers':
          'Authorization, Content-Type, Idempotency-Key, X-Request-Id, X-Service-API-Key, traceparent',
        'access-control-max-age': '7200',
        vary: 'Origin',
      });
      expect(allowed.headers.get('access-control-allow-credentials')).toBeNull();
    }
  });

  test('reads responses and refusals, and their headers', async () => {
    for (const path of ['/v1/me', '/v1/nothing']) {
      const { headers } = await fetch(`${withCors.origins[0]}${path}`, { headers: { origin: PAGE } });
      expect(headers.get('access-control-allow-origin')).toBe(PAGE);
      expect(headers.get('access-control-expose-headers')).toBe(
        'Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
      );
    }
  });

  test('never gets what was kept for another one: all responses vary by the origin, unless none is named', async () => {
    const varyFor = async (target: TestSystem, headers: Record<string, string>) =>
      (await fetch(`${target.origins[0]}/v1/me`, { headers })).headers.get('vary');
    expect(await varyFor(withCors, {})).toBe('Origin');
    expect(await varyFor(withCors, { origin: 'https://stranger.example' })).toBe('Origin');
    expect(await varyFor(system, { origin: PAGE })).toBeNull();
  });

  test('changes nothing for OPTIONS that is no preflight', async () => {
    const answer = await fetch(`${withCors.origins[0]}/v1/me`, { method: 'OPTIONS' });
    expect(answer.status).toBe(404);
  });
});

test('an X-Request-Id of 1 to 128 letters, digits, dots, lines and hyphens is that of the answer, another is not', async () => {
  const idOf = async (id: string) =>
    (await raw(`${origin}/v1/me`, { 'x-request-id': id })).headers['x-request-id'];
  for (const id of ['a', 'Az09._-', 'r'.repeat(128)]) expect(await idOf(id)).toBe(id);
  for (const id of ['', 'r'.repeat(129), 'two words', 'a,b'])
    expect(await idOf(id)).toMatch(/^[0-9a-f-]{36}$/);
});

describe('entity tags', () => {
  test.each(['/openapi.json', '/graphiql/react.js', '/'])(
    '%s is sent again only if it has changed',
    async (path) => {
      const server = path === '/openapi.json' ? origin : gateway.origin;
      for (const encoding of ['identity', 'gzip', 'br']) {
        const first = await raw(server + path, { 'accept-encoding': encoding });
        expect([first.status, first.headers['cache-control']]).toEqual([200, 'no-cache']);
        const tag = first.headers.etag ?? '';
        expect(tag).toMatch(/^W\/"[^"]+"$/);
        for (const known of [tag, tag.slice(2)]) {
          const again = await raw(server + path, { 'accept-encoding': encoding, 'if-none-match': known });
          expect([again.status, again.body.length], known).toEqual([304, 0]);
        }
        const other = await raw(server + path, { 'accept-encoding': encoding, 'if-none-match': '"x"' });
        expect(other.status).toBe(200);
      }
    },
  );

  test('the files of /docs have them, too', async () => {
    const file = `${origin}/docs/static/swagger-ui.css`;
    const { etag = '' } = (await raw(file)).headers;
    expect((await raw(file, { 'if-none-match': etag })).status).toBe(304);
  });
});

test('what the API answers may be kept by no cache, be it a list, a refusal or an unknown path', async () => {
  const answers = await Promise.all([
    raw(`${origin}/v1/materials`),
    raw(`${origin}/v1/me`, { authorization: 'Bearer x' }),
    raw(`${origin}/v1/materials?limit=0`),
    raw(`${origin}/v2`),
    raw(`${origin}/v1/materials/%zz`),
  ]);
  expect(answers.map(({ status, headers }) => [status, headers['cache-control']])).toEqual([
    [200, 'no-store'],
    [401, 'no-store'],
    [400, 'no-store'],
    [404, 'no-store'],
    [400, 'no-store'],
  ]);
});

describe('gzip', () => {
  const list = (headers: Record<string, string> = {}) => raw(`${origin}/v1/materials?limit=100`, headers);
  beforeAll(async () => {
    for (let index = 0; index < 5; index += 1) await api.create({ title: `Zipped ${index}` });
  });

  test('makes a list smaller for a client that takes it', async () => {
    const plain = await list();
    const zipped = await list({ 'accept-encoding': 'br, gzip;q=0.5' });
    expect([plain.headers['content-encoding'], zipped.headers['content-encoding']]).toEqual([
      undefined,
      'gzip',
    ]);
    expect(gunzipSync(zipped.body)).toEqual(plain.body);
    expect(zipped.body.length).toBeLessThan(plain.body.length / 3);
    expect(zipped.headers.vary).toBe('accept-encoding');
    expect(zipped.headers['content-length']).toBe(`${zipped.body.length}`);
  });

  test('is not used for what is small, nor for who refuses it', async () => {
    expect((await list({ 'accept-encoding': 'gzip;q=0' })).headers['content-encoding']).toBeUndefined();
    const me = await raw(`${origin}/v1/me`, { 'accept-encoding': 'gzip' });
    expect(me.headers['content-encoding']).toBeUndefined();
  });

  test('is used for responses of the gateway', async () => {
    const query = '{ __schema { types { name description } } }';
    const response = await fetch(`${gateway.origin}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${OPERATOR}`,
        'content-type': 'application/json',
        'accept-encoding': 'gzip',
      },
      body: JSON.stringify({ query }),
    });
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(await response.json()).toHaveProperty('data.__schema.types');
  });
});

test('an ID in upper case is the same ID, also for an Idempotency-Key', async () => {
  const { id } = await api.create({ title: 'Upper' });
  const headers = { 'idempotency-key': randomUUID() };
  const first = await api.post(`/reviews/${id}`, { quality: 4 }, { headers });
  const again = await api.post(`/reviews/${id.toUpperCase()}`, { quality: 4 }, { headers });
  expect([again.status, again.body]).toEqual([200, first.body]);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  const snoozed = await api.post(`/materials/${id.toUpperCase()}/snooze`, { preset: '1h' });
  expect(snoozed.body).toMatchObject({ snooze: { materialIds: [id] } });
});

const PAGE = 'https://app.example.com';
let system: TestSystem;
let withCors: TestSystem;
let gateway: TestGateway;
let origin: string;
let key: string;
let api: Api;

async function startAll(): Promise<void> {
  system = await startSystem();
  withCors = await startSystem({ corsOrigins: [PAGE, 'http://127.0.0.1:5173'] });
  gateway = await startTestGateway(system);
  origin = system.origins[0] ?? '';
  key = (await system.createUser()).key;
  api = createApi(`${origin}/v1`, key);
}

async function stopAll(): Promise<void> {
  await gateway.stop();
  await withCors.stop();
  await system.stop();
}

/** Without the decompression of fetch. */
async function raw(url: string, headers: Record<string, string> = {}) {
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    httpRequest(url, { headers: { authorization: `Bearer ${key}`, ...headers } }, resolve)
      .on('error', reject)
      .end(),
  );
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
}
