import { connect } from 'node:net';
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { errorOf } from '../support/api.ts';
import { exchange } from './raw-http.ts';

test.beforeAll(prepare);

describe('bytes that are not HTTP', () => {
  const close = 'Connection: close\r\n\r\n';

  test.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['an unknown method', `FOO /v1/me HTTP/1.1\r\nHost: x\r\n${close}`, 400],
    ['an unknown version', `GET /v1/me HTTP/9.9\r\nHost: x\r\n${close}`, 400],
    ['no Host', `GET /v1/me HTTP/1.1\r\n${close}`, 400],
    ['a bad header', `GET /v1/me HTTP/1.1\r\nHost: x\r\nb ad: y\r\n${close}`, 400],
    ['a NUL in a header', `GET /v1/me HTTP/1.1\r\nHost: x\r\na: b\0c\r\n${close}`, 400],
    ['a path that is not ASCII', `GET /v1/\xe9 HTTP/1.1\r\nHost: x\r\n${close}`, 400],
    ['a NUL in the path', `GET /v1/\0 HTTP/1.1\r\nHost: x\r\n${close}`, 400],
    ['a head over 16 KiB', `GET /v1/me HTTP/1.1\r\nHost: x\r\na: ${'b'.repeat(17_000)}\r\n${close}`, 400],
    ['a path over 16 KiB', `GET /v1/${'b'.repeat(17_000)} HTTP/1.1\r\nHost: x\r\n${close}`, 400],
    [
      'two lengths',
      `POST /v1/materials HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n${close}a`,
      400,
    ],
    [
      'length and chunks',
      `POST /v1/materials HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n${close}`,
      400,
    ],
    ['a negative length', `POST /v1/materials HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n${close}`, 400],
    ['CONNECT', `CONNECT x:443 HTTP/1.1\r\nHost: x\r\n${close}`, 404],
    ['TRACE', `TRACE /v1/me HTTP/1.1\r\nHost: x\r\n${close}`, 404],
    ['PROPFIND', `PROPFIND /v1/me HTTP/1.1\r\nHost: x\r\n${close}`, 404],
    [
      'an upgrade',
      `GET /v1/me HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade, close\r\n\r\n`,
      401,
    ],
    ['an expectation', `GET /v1/me HTTP/1.1\r\nHost: x\r\nExpect: magic\r\n${close}`, 401],
    ['an absolute target', `GET http://x/v1/me HTTP/1.1\r\nHost: x\r\n${close}`, 401],
    ['an asterisk', `OPTIONS * HTTP/1.1\r\nHost: x\r\n${close}`, 404],
    ['HTTP/1.0', `GET /v1/me HTTP/1.0\r\n\r\n`, 401],
  ])('%s', async (_name, text, status) => {
    const answers = await exchange(system.port, text);
    expect(answers.map((answer) => answer.status)).toEqual([status]);
  });
});

const LAST = 'Connection: close\r\n';
const get = (path: string, headers: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const post = (path: string, body: string, headers: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
const authorized = () => `Authorization: Bearer ${key}\r\n`;
const statuses = async (...parts: (string | number)[]) =>
  (await exchange(system.port, ...parts)).map(({ status }) => status);

describe('one connection', () => {
  test('goes on after errors, and answers what is sent at once in its order', async () => {
    const requests = [
      get('/v1/nothing', ''),
      get('/v1/me', ''),
      post('/v1/materials', '{"title":"a"}', ''),
      post('/v1/nothing', 'x'.repeat(300_000), ''),
      post('/v1/materials', '{"title":""}', authorized()),
      post('/v1/materials', '{"title":"a"}', authorized()),
      post('/v1/reviews/x', '{"quality":3}', authorized()),
      get('/v1/me', authorized() + LAST),
    ];
    const expected = [404, 401, 401, 404, 400, 201, 404, 200];
    expect(await statuses(requests.join(''))).toEqual(expected);
    expect(await statuses(...requests.flatMap((request) => [request, 20]))).toEqual(expected);
  });

  test('ends after a body that cannot be read, so that none of it is taken for a request', async () => {
    const smuggled = get('/v1/me', authorized());
    for (const body of ['{', 'x'.repeat(262_145)]) {
      const [first, ...others] = await exchange(
        system.port,
        post('/v1/materials', body, authorized()) + smuggled,
      );
      expect([first?.status, first?.headers.get('connection'), others]).toEqual([400, 'close', []]);
    }
  });

  test('may send a body in chunks, and slowly', async () => {
    const head = `POST /v1/materials HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${LAST}`;
    const chunks = ['5\r\n{"tit\r\n', 100, '8\r\nle":"c"}\r\n', 100, '0\r\n\r\n'];
    expect(await statuses(`${head}${authorized()}Transfer-Encoding: chunked\r\n\r\n`, ...chunks)).toEqual([
      201,
    ]);
    expect(await statuses(`${head}${authorized()}Content-Length: 13\r\n\r\n`, 300, '{"title":"a"}')).toEqual([
      201,
    ]);
  });

  test('has the answer to what came whole before bytes that are not HTTP, and then theirs', async () => {
    const write = post('/v1/materials', '{"title":"a"}', authorized());
    expect(await statuses(`${write}garbage\r\n\r\n`)).toEqual([201, 400]);
    expect(await statuses(`${get('/v1/me', authorized()).repeat(3)}garbage\r\n\r\n`)).toEqual([
      200, 200, 200, 400,
    ]);
    const chunked = `POST /v1/materials HTTP/1.1\r\nHost: x\r\n${authorized()}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expect(await statuses(`${chunked}garbage\r\n`)).toEqual([400]);
  });

  test('may send CONNECT and reset the connection before the response', async () => {
    const reset = Array.from({ length: 50 }, async () => {
      const socket = connect(system.port, '127.0.0.1');
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.write('CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n', () => socket.resetAndDestroy());
      await closed;
    });
    await Promise.all(reset);
    expect(await statuses(get('/v1/me', authorized() + LAST))).toEqual([200]);
  });

  test.each(['/v1/search?q=\xe9', '/v1/m\xe9'])('is told to percent-encode %s', async (path) => {
    const [answer] = await exchange(system.port, get(path, authorized()));
    expect([answer?.status, answer && errorOf(answer)]).toEqual([
      400,
      {
        code: 'invalid_request',
        message: 'The path and the query must be percent-encoded UTF-8.',
        details: { field: 'path' },
      },
    ]);
  });

  test('that is too slow is told so', async () => {
    const [answer] = await exchange(system.port, 'GET /v1/me HTTP/1.1\r\nHost: x\r\n');
    expect(answer && errorOf(answer)).toEqual({
      code: 'invalid_request',
      message: 'The request did not arrive in time: 5 seconds for its head, 10 for all of it.',
    });
  });
});

describe('headers', () => {
  test.each<[string, (key: string) => string, number]>([
    ['a key between blanks and tabs', (it) => `X-Service-API-Key: \t ${it} \t\r\n`, 200],
    ['several blanks after Bearer', (it) => `Authorization:  bEARER   ${it}\t\r\n`, 200],
    ['a key behind a no-break space', (it) => `X-Service-API-Key: \xa0${it}\r\n`, 401],
    ['a no-break space behind the key', (it) => `Authorization: Bearer ${it}\xa0\r\n`, 401],
    ['two keys in one header', (it) => `Authorization: Bearer ${it}, Bearer ${it}\r\n`, 401],
    ['the key header twice', (it) => `X-Service-API-Key: ${it}\r\nX-Service-API-Key: ${it}\r\n`, 401],
    ['Bearer without a key', (it) => `Authorization: Bearer\r\nX-Service-API-Key: ${it}\r\n`, 401],
    [
      'Bearer twice, the wrong one first',
      (it) => `Authorization: Bearer x\r\nAuthorization: Bearer ${it}\r\n`,
      401,
    ],
    ['an empty Authorization', (it) => `Authorization:\r\nX-Service-API-Key: ${it}\r\n`, 200],
    ['a second Host', (it) => `Host: y\r\nAuthorization: Bearer ${it}\r\n`, 400],
  ])('%s', async (_name, headersOf, status) => {
    expect(await statuses(get('/v1/me', headersOf(key) + LAST))).toEqual([status]);
  });
});

describe('an unknown route is 404, whatever its body is', () => {
  test.each([
    ['POST', '/v1/nothing', 'application/json', '{'],
    ['PUT', '/v1/materials', 'application/json', 'x'.repeat(300_000)],
    ['PATCH', '/v1/materials/x', 'text/plain', 'x'],
    ['QUERY', '/v1/materials', 'application/json', ''],
    ['POST', '//v1/materials', 'application/json', '{}'],
    ['POST', '/v1/materials/', 'application/json', '{}'],
    ['POST', '/v1/reviews/', 'application/json', '{"quality":3}'],
    ['POST', '/v1/materials//snooze', 'application/json', '{"preset":"1h"}'],
  ])('%s %s as %s', async (method, path, type, body) => {
    const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\n${LAST}Content-Type: ${type}\r\n`;
    expect(await statuses(`${head}Content-Length: ${body.length}\r\n\r\n${body}`)).toEqual([404]);
  });
});

let system: Given<'system'>['system'];
let key: string;

async function prepare({ system: shared }: Given<'system'>): Promise<void> {
  system = shared;
  ({ key } = await system.createUser());
}
