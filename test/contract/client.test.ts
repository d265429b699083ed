// The client against the real service, with what a network and a loaded service do in between.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  ApiError,
  ConnectionError,
  createClient,
  InsufficientScopeError,
  InvalidRequestError,
  NotFoundError,
  RateLimitedError,
  UnauthorizedError,
  UnavailableError,
} from '../../services/rest/client/client.ts';
import { type Forwarder, startForwarder } from '../support/http-forwarder.ts';
import { startSystem, type TestSystem, type TestUser } from '../support/system.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

beforeAll(startAll);
afterAll(stopAll);

test('each of the seven calls answers what the contract says', async () => {
  const client = clientOf();
  expect(await client.getMe()).toMatchObject({ id: user.userId, plan: 'free' });
  const { material } = await client.createMaterial({ title: 'Aä 😀', type: 'flashcard' });
  expect(material).toMatchObject({ title: 'Aä 😀', repetitions: 0, nextReview: material.createdAt });
  const ids = ({ materials }: { materials: { id: string }[] }) => materials.map(({ id }) => id);
  expect(ids(await client.listMaterials())).toEqual([material.id]);
  expect(ids(await client.listMaterials({ limit: 1, q: 'no such' }))).toEqual([]);
  expect(ids(await client.searchMaterials({ q: 'aä 😀' }))).toEqual([material.id]);
  expect(ids(await client.listDueMaterials({ limit: 100 }))).toEqual([material.id]);
  const { material: reviewed, review } = await client.submitReview(material.id, { quality: 4 });
  expect([reviewed.interval, review.previousDueAt]).toEqual([1, material.nextReview]);
  const { snooze } = await client.snoozeMaterial(material.id, { preset: '1h', reason: 'Lunch' });
  expect(snooze).toMatchObject({ materialIds: [material.id], reason: 'Lunch' });
});

test('a parameter without a value is left out, and a 0 is sent', async () => {
  forwarder.fail();
  // As from JavaScript, where nothing forbids it.
  const { materials } = await clientOf().listMaterials({ limit: 100, ...({ q: undefined } as object) });
  expect([materials.length, forwarder.asked.map(({ path }) => path)]).toEqual([
    1,
    ['/v1/materials?limit=100'],
  ]);
  expect(await failureOf(clientOf().listDueMaterials({ limit: 0 }))).toMatchObject({ field: 'limit' });
});

test('requests go through the fetch that is given', async () => {
  const urls: string[] = [];
  const through: typeof fetch = (input, init) => {
    urls.push(`${input}`);
    return fetch(input, init);
  };
  expect(await clientOf({ fetch: through }).getMe()).toMatchObject({ id: user.userId });
  expect(urls).toEqual([`${forwarder.origin}/v1/me`]);
});

describe('an error response', () => {
  test('is an error of its own class, with what the service says', async () => {
    const client = clientOf();
    const invalid = await failureOf(client.createMaterial({ title: '' }));
    expect(invalid).toBeInstanceOf(InvalidRequestError);
    expect(invalid).toMatchObject({
      name: 'InvalidRequestError',
      status: 400,
      code: 'invalid_request',
      field: 'title',
      message: 'The request is not valid: title must NOT have fewer than 1 characters.',
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(await failureOf(client.submitReview(NOWHERE, { quality: 4 }))).toBeInstanceOf(NotFoundError);
    expect(await failureOf(client.submitReview('../me?', { quality: 4 }))).toBeInstanceOf(NotFoundError);
    expect(await failureOf(clientOf({ apiKey: 'rmk_live_x' }).getMe())).toBeInstanceOf(UnauthorizedError);
    const reader = await system.createKey(user.userId, ['materials:read']);
    const refused = await failureOf(clientOf({ apiKey: reader.key }).createMaterial({ title: 'A' }));
    expect(refused).toBeInstanceOf(InsufficientScopeError);
    expect(refused).toMatchObject({ requiredScopes: ['materials:write'] });
  });

  test('is not repeated where it would come again', async () => {
    forwarder.fail();
    await failureOf(clientOf().submitReview(NOWHERE, { quality: 9 }));
    expect(forwarder.asked.length).toBe(1);
  });

  test('that is no JSON is one, too, and shows no more than its status', async () => {
    forwarder.fail({ status: 502, body: '<html>Bad gateway</html>' });
    const error = await failureOf(clientOf({ maxRetries: 0 }).getMe());
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({ message: 'HTTP status 502', code: undefined, status: 502 });
  });

  test('is a page that a proxy sends with status 200, too', async () => {
    forwarder.fail({ status: 200, body: '<html>Log in</html>' });
    const error = await failureOf(clientOf().getMe());
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 200, message: 'HTTP status 200', code: undefined });
    expect(forwarder.asked.length).toBe(1);
  });

  test('is a redirect, too, so that a write is never taken for done after it has become a GET', async () => {
    for (const status of [301, 303, 307]) {
      forwarder.fail({ status, headers: { location: '/v1/materials' } });
      const error = await failureOf(clientOf().createMaterial({ title: 'Redirected' }));
      expect(error).toBeInstanceOf(ApiError);
      expect(error).toMatchObject({ status, message: 'The service is at another address: correct baseUrl.' });
      expect(forwarder.asked.map(({ method }) => method)).toEqual(['POST']);
    }
  });

  test('no error holds the key', async () => {
    const broken = clientOf({ baseUrl: 'http://127.0.0.1:2/v1', maxRetries: 0 });
    const errors = [
      await failureOf(broken.getMe()),
      await failureOf(clientOf().createMaterial({ title: '' })),
    ];
    expect(errors[0]).toBeInstanceOf(ConnectionError);
    for (const error of errors) expect(JSON.stringify([error, `${error}`])).not.toContain(user.key);
  });
});

test.each<[object, string]>([
  [{ baseUrl: '127.0.0.1:8080/v1' }, 'baseUrl must begin with http:// or https://'],
  [{ baseUrl: 'localhost:8080/v1' }, 'baseUrl must begin with http:// or https://'],
  [{ baseUrl: 'http://localhost:99999/v1' }, 'baseUrl must be a URL without user, query and fragment'],
  [{ baseUrl: 'http://ada:pw@localhost/v1' }, 'baseUrl must be a URL without user, query and fragment'],
  [{ baseUrl: 'http://localhost/v1?a=b' }, 'baseUrl must be a URL without user, query and fragment'],
  [{ maxRetries: -1 }, 'maxRetries must be 0 or more'],
  [{ maxRetries: Number.NaN }, 'maxRetries must be 0 or more'],
  [{ maxWaitMs: Number.NaN }, 'maxWaitMs must be 0 or more'],
  [{ timeoutMs: Number.NaN }, 'timeoutMs must be an integer from 1 to 2147483647'],
  [{ timeoutMs: 0 }, 'timeoutMs must be an integer from 1 to 2147483647'],
  [{ timeoutMs: 0.5 }, 'timeoutMs must be an integer from 1 to 2147483647'],
  [{ timeoutMs: Number.POSITIVE_INFINITY }, 'timeoutMs must be an integer from 1 to 2147483647'],
  [{ apiKey: 'rmk_live_…' }, 'apiKey must be printable ASCII, without blanks'],
  [{ apiKey: '' }, 'apiKey must be printable ASCII, without blanks'],
  [{ apiKey: undefined }, 'apiKey must be printable ASCII, without blanks'],
  [{ apiKey: null }, 'apiKey must be printable ASCII, without blanks'],
  [{ baseUrl: undefined }, 'baseUrl must begin with http:// or https://'],
])('a client with %j, which no request can have, is not made', (options, message) => {
  expect(() => clientOf(options)).toThrow(expect.objectContaining({ name: 'InvalidOptionError', message }));
});

test.each<[string, object]>([
  ['idempotencyKey must have 1 to 255 printable ASCII characters', { idempotencyKey: 'ключ-1' }],
  ['idempotencyKey must have 1 to 255 printable ASCII characters', { idempotencyKey: 'a\nb' }],
  ['idempotencyKey must have 1 to 255 printable ASCII characters', { idempotencyKey: '' }],
  ['idempotencyKey must have 1 to 255 printable ASCII characters', { idempotencyKey: 'x'.repeat(256) }],
  ['idempotencyKey must have 1 to 255 printable ASCII characters', { idempotencyKey: null }],
  ['idempotencyKey must have 1 to 255 printable ASCII characters', { idempotencyKey: 17 }],
])('a write rejects at once, and sends nothing: %s', async (message, options) => {
  forwarder.fail();
  const error = await failureOf(clientOf().createMaterial({ title: 'T' }, options));
  expect(error).toMatchObject({ name: 'InvalidOptionError', message });
  expect(forwarder.asked).toEqual([]);
});

test('a key is taken with the line breaks around it, as a file has them', async () => {
  expect(await clientOf({ apiKey: `\n${user.key}\r\n` }).getMe()).toMatchObject({ id: user.userId });
});

test('a port that fetch refuses is named at once', async () => {
  const error = await failureOf(clientOf({ baseUrl: 'http://127.0.0.1:6000/v1' }).getMe());
  expect(error).toMatchObject({ option: 'baseUrl', message: 'baseUrl has a port that fetch does not allow' });
});

test('no method throws, whatever it is given', async () => {
  const client = clientOf();
  // As from JavaScript, where nothing forbids it.
  const wrong = { toJSON: () => 1n } as never;
  const calls = [
    () => client.getMe(null as never),
    () => client.submitReview('\ud800', { quality: 4 }),
    () => client.createMaterial(wrong),
    () => client.listMaterials({ q: Symbol('q') as never }),
  ];
  for (const call of calls) expect(await failureOf(call())).toBeInstanceOf(Error);
});

test('a page of another origin is told of the setting that lets it in', async () => {
  vi.stubGlobal('location', { origin: 'https://app.example' });
  const client = clientOf({ baseUrl: 'http://127.0.0.1:2/v1', maxRetries: 0 });
  vi.unstubAllGlobals();
  expect(await failureOf(client.getMe())).toMatchObject({ message: expect.stringMatching(/CORS_ORIGINS/) });
});

describe('a call that fails for a moment', () => {
  test('is repeated after Retry-After and not before', async () => {
    forwarder.fail(UNAVAILABLE);
    await clientOf().getMe();
    const [first, second] = forwarder.asked.map(({ timeMs }) => timeMs);
    expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(999);
  });

  test('is repeated after a Retry-After of just maxWaitMs, and not after a longer one', async () => {
    forwarder.fail(UNAVAILABLE);
    await clientOf({ maxWaitMs: 1000 }).getMe();
    forwarder.fail(UNAVAILABLE);
    expect(await failureOf(clientOf({ maxWaitMs: 999 }).getMe())).toBeInstanceOf(UnavailableError);
  });

  test('is repeated after a Retry-After that a proxy gives as a date', async () => {
    const inTwoSeconds = new Date(Date.now() + 2000).toUTCString();
    forwarder.fail({ ...UNAVAILABLE, headers: { 'retry-after': inTwoSeconds } });
    await clientOf().getMe();
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(inTwoSeconds));
    forwarder.fail({ ...UNAVAILABLE, headers: { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' } });
    expect(await failureOf(clientOf().getMe())).toBeInstanceOf(UnavailableError);
    expect(forwarder.asked.length).toBe(1);
  });

  test.each(['-1', '1.5', 'soon, 1', ''])('does not take the Retry-After %j for a time', async (wrong) => {
    forwarder.fail({ ...UNAVAILABLE, headers: { 'retry-after': wrong } });
    const error = await failureOf(clientOf({ maxRetries: 0 }).getMe());
    expect(error).toMatchObject({ status: 503, retryAfterSeconds: undefined });
  });

  test('repeats a write under the same key and with the same body, and is done once', async () => {
    forwarder.fail('lose', UNAVAILABLE, 'lose');
    const { material } = await clientOf().createMaterial({ title: 'Once' });
    const [first, ...others] = forwarder.asked;
    expect(others.length).toBe(3);
    expect(first?.idempotencyKey).toMatch(/^[0-9a-f]{32}$/);
    for (const other of others)
      expect([other.idempotencyKey, other.body]).toEqual([first?.idempotencyKey, first?.body]);
    const found = await clientOf().searchMaterials({ q: 'Once' });
    expect(found.materials.map(({ id }) => id)).toEqual([material.id]);
  });

  test('repeats a write whose response is cut off in its middle, and is done once', async () => {
    forwarder.fail('cut');
    const { material } = await clientOf().createMaterial({ title: 'Cut off' });
    expect(forwarder.asked.length).toBe(2);
    const found = await clientOf().searchMaterials({ q: 'Cut off' });
    expect(found.materials.map(({ id }) => id)).toEqual([material.id]);
  });

  test('takes the key that the caller gives; two calls have two keys of their own', async () => {
    forwarder.fail();
    const idempotencyKey = randomUUID();
    const [a, b] = [
      await clientOf().createMaterial({ title: 'Given' }, { idempotencyKey }),
      await clientOf().createMaterial({ title: 'Given' }, { idempotencyKey }),
    ];
    expect(a).toEqual(b);
    await clientOf().createMaterial({ title: 'Own' });
    await clientOf().createMaterial({ title: 'Own' });
    const keys = forwarder.asked.map((asked) => asked.idempotencyKey);
    expect(keys.slice(0, 2)).toEqual([idempotencyKey, idempotencyKey]);
    expect(new Set(keys).size).toBe(3);
  });

  test('fails in the end with its last error', async () => {
    forwarder.fail('lose', { status: 500 }, { ...UNAVAILABLE, headers: { 'retry-after': '0' } });
    expect(await failureOf(clientOf({ maxRetries: 2 }).getMe())).toMatchObject({ status: 503 });
    expect(forwarder.asked.length).toBe(3);
  });

  test('ends as soon as its signal does, with the reason of the signal', async () => {
    forwarder.fail({ ...UNAVAILABLE, headers: { 'retry-after': '50' } });
    const controller = new AbortController();
    const call = failureOf(clientOf().getMe({ signal: controller.signal }));
    await expect.poll(() => forwarder.asked.length).toBe(1);
    controller.abort(new Error('enough'));
    expect(await call).toEqual(new Error('enough'));
  });

  test('does not wait longer than it may', async () => {
    forwarder.fail({ ...UNAVAILABLE, headers: { 'retry-after': '90' } });
    expect(await failureOf(clientOf().getMe())).toMatchObject({ retryAfterSeconds: 90 });
  });
});

describe('a call that is never answered', () => {
  let proxy: TcpProxy;
  beforeAll(async () => {
    proxy = await startTcpProxy(Number(new URL(forwarder.origin).port));
    proxy.hold();
  });
  afterAll(() => proxy.stop());
  const mute = (timeoutMs: number) =>
    clientOf({ baseUrl: `http://${proxy.target}/v1`, maxRetries: 0, timeoutMs });

  test('fails after timeoutMs, and says so; one without a connection says that', {
    timeout: 9_000,
  }, async () => {
    // That is less than the time that a client waits that is told nothing.
    const late = await failureOf(mute(50).listMaterials({ q: 'private' }));
    expect(late).toBeInstanceOf(ConnectionError);
    expect(late).toMatchObject({ message: 'GET /materials: no response within 50 ms' });
    const refused = await failureOf(clientOf({ baseUrl: 'http://127.0.0.1:2/v1', maxRetries: 0 }).getMe());
    expect(refused).toMatchObject({ message: 'GET /me: no connection, or it broke' });
  });

  test('fails after timeoutMs beside a signal that does not end it', { timeout: 9_000 }, async () => {
    const { signal } = new AbortController();
    expect(await failureOf(mute(50).getMe({ signal }))).toMatchObject({
      message: 'GET /me: no response within 50 ms',
    });
  });

  test('ends with the reason of its signal', async () => {
    const controller = new AbortController();
    const call = failureOf(mute(600_000).getMe({ signal: controller.signal }));
    controller.abort(new Error('enough'));
    expect(await call).toEqual(new Error('enough'));
  });
});

test('the write limit of the service is an error with the seconds to wait, if these are too many', async () => {
  const { key } = await system.createUser();
  const client = clientOf({ apiKey: key, maxWaitMs: 0 });
  for (let index = 0; index < 30; index += 1) await client.createMaterial({ title: 'A' });
  const error = await failureOf(client.createMaterial({ title: 'A' }));
  expect(error).toBeInstanceOf(RateLimitedError);
  expect((error as RateLimitedError).retryAfterSeconds).toBeGreaterThanOrEqual(1);
  expect((error as RateLimitedError).retryAfterSeconds).toBeLessThanOrEqual(60);
});

const NOWHERE = '01900000-0000-7000-8000-000000000000';
const UNAVAILABLE = { status: 503, headers: { 'retry-after': '1' }, body: '{}' };
let system: TestSystem;
let forwarder: Forwarder;
let user: TestUser;

async function startAll(): Promise<void> {
  system = await startSystem({ writeLimit: 30 });
  forwarder = await startForwarder(system.origins[0] ?? '');
  user = await system.createUser();
}

async function stopAll(): Promise<void> {
  await forwarder.stop();
  await system.stop();
}

const clientOf = (options: Partial<Parameters<typeof createClient>[0]> = {}) =>
  createClient({ baseUrl: `${forwarder.origin}/v1/`, apiKey: user.key, ...options });
const failureOf = (call: Promise<unknown>) => call.then(() => undefined).catch((error: unknown) => error);
