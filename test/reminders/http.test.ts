// The HTTP end: a calendar to fetch, reminders by e-mail to end, and nothing else.
import { connect } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { type HttpServer, startHttp } from '../../services/platform/http/server.ts';
import { calendarFeed } from '../../services/reminders/channels/calendar.ts';
import { buildHttpApp } from '../../services/reminders/http.ts';

beforeAll(startAll);
afterAll(() => end.close());
beforeEach(prepareEach);

describe('a calendar', () => {
  test('is answered as one, to be kept for an hour by nobody but its user', async () => {
    const response = await ask(`/calendar/${SECRET}.ics`);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/calendar; charset=utf-8',
      'cache-control': 'private, max-age=3600',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      etag: feed.etag,
    });
    expect(await response.text()).toBe(feed.text);
  });

  test('is described by HEAD as by GET', async () => {
    const response = await ask(`/calendar/${SECRET}.ics`, { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-length')).toBe(`${Buffer.byteLength(feed.text)}`);
    expect(await response.text()).toBe('');
  });

  test.each([
    ['its tag', () => feed.etag],
    ['its tag, not marked as weak', () => feed.etag.slice(2)],
  ])('is not sent again to a program that has %s', async (_, tagOf) => {
    const response = await ask(`/calendar/${SECRET}.ics`, { headers: { 'if-none-match': tagOf() } });
    expect(response.status).toBe(304);
    expect(response.headers.get('etag')).toBe(feed.etag);
    expect(response.headers.get('cache-control')).toBe('private, max-age=3600');
    expect(await response.text()).toBe('');
  });

  test('is sent again to a program that has another', async () => {
    const response = await ask(`/calendar/${SECRET}.ics`, { headers: { 'if-none-match': 'W/"other"' } });
    expect(response.status).toBe(200);
  });
});

describe('the link to end reminders by e-mail', () => {
  test('shows a page with one button, and changes nothing by itself', async () => {
    for (const method of ['GET', 'HEAD']) {
      const response = await ask(`/unsubscribe/${TOKEN}`, { method });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
      );
      const page = await response.text();
      if (method === 'GET') expect(page.match(/<button>/g)?.length).toBe(1);
      expect(page).not.toMatch(/<script|<img|https?:|Tk4hDGj2/);
    }
    expect(switchedOff).toEqual([]);
  });

  test.each([
    ['as mail programs do', 'application/x-www-form-urlencoded', 'List-Unsubscribe=One-Click'],
    [
      'in parts',
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n',
    ],
    ['as anything else', 'application/json', '{'],
    ['as no media type is written', 'x', 'List-Unsubscribe=One-Click'],
  ])('switches them off with a POST %s, again and again alike', async (_, type, body) => {
    for (const _again of [1, 2]) {
      const init = { method: 'POST', body, headers: { 'content-type': type } };
      const response = await ask(`/unsubscribe/${TOKEN}`, init);
      expect(response.status).toBe(200);
      expect(await response.text()).toContain('Reminders by e-mail are off');
    }
    expect(switchedOff).toEqual([TOKEN, TOKEN]);
  });

  test('leads to a page whose button switches them on again, however often it is pressed', async () => {
    const off = await (await ask(`/unsubscribe/${TOKEN}`, { method: 'POST' })).text();
    const [, action = ''] = /<form method="post" action="([^"]+)">/.exec(off) ?? [];
    const { pathname } = new URL(action, `${origin}/unsubscribe/${TOKEN}`);
    for (const _again of [1, 2]) {
      const response = await ask(pathname, { method: 'POST' });
      expect(response.status).toBe(200);
      expect(await response.text()).toContain('Reminders by e-mail are on');
    }
    expect(switchedOff).toEqual([]);
    stays = true;
    const still = await (await ask(pathname, { method: 'POST' })).text();
    expect(still).toContain('Reminders by e-mail are still off');
    stays = false;
  });

  test('leads to a page whose button stays below the path of PUBLIC_URL, which a proxy takes off', async () => {
    const off = await (await ask(`/unsubscribe/${TOKEN}`, { method: 'POST' })).text();
    const [, action = ''] = /<form method="post" action="([^"]+)">/.exec(off) ?? [];
    const { pathname } = new URL(action, `https://example.com/reminders/unsubscribe/${TOKEN}`);
    expect(pathname).toBe('/reminders/unsubscribe/Tk4hDGj2cF3mXxg0V6vT8yBq1sLr5nWzA7oEuPiKdQM/undo');
  });

  test('works without a body, and refuses one over 4 KiB', async () => {
    expect((await ask(`/unsubscribe/${TOKEN}`, { method: 'POST' })).status).toBe(200);
    const body = 'x'.repeat(4097);
    expect((await ask(`/unsubscribe/${TOKEN}`, { method: 'POST', body })).status).toBe(400);
    expect(switchedOff.length).toBe(1);
  });
});

const SECRET = 'Jk4hDGj2cF3mXxg0V6vT8yBq1sLr5nWzA7oEuPiKdQM';

const TOKEN = 'Tk4hDGj2cF3mXxg0V6vT8yBq1sLr5nWzA7oEuPiKdQM';

const OTHER = 'Xk4hDGj2cF3mXxg0V6vT8yBq1sLr5nWzA7oEuPiKdQM';

test.each([
  ['GET', `/calendar/${OTHER}.ics`],
  ['GET', `/calendar/${SECRET}`],
  ['GET', `/calendar/${SECRET}.ics/`],
  ['GET', '/calendar/.ics'],
  ['POST', `/calendar/${SECRET}.ics`],
  ['GET', `/unsubscribe/${OTHER}`],
  ['POST', `/unsubscribe/${OTHER}`],
  ['GET', `/unsubscribe/${TOKEN}/undo`],
  ['POST', `/unsubscribe/${OTHER}/undo`],
  ['PUT', `/unsubscribe/${TOKEN}`],
  ['DELETE', `/unsubscribe/${TOKEN}`],
  ['OPTIONS', `/unsubscribe/${TOKEN}`],
  ['GET', '/'],
  ['GET', '/metrics'],
  ['GET', '/calendar/%ZZ.ics'],
  ['GET', `/calendar/${'x'.repeat(5000)}.ics`],
])('%s %s is not found, in the same words', async (method, path) => {
  const response = await ask(path, { method });
  expect([response.status, await response.text()]).toEqual([404, 'Not found.\n']);
  expect(response.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
  expect(switchedOff).toEqual([]);
});

test.each([`/calendar/${OTHER}.ics`, `/unsubscribe/${OTHER}`, '/elsewhere'])(
  'GET %s stays not found for a program that has what was answered before',
  async (path) => {
    const tag = (await ask(path)).headers.get('etag') ?? 'W/"none"';
    const response = await ask(path, { headers: { 'if-none-match': tag } });
    expect([response.status, await response.text()]).toEqual([404, 'Not found.\n']);
  },
);

describe('an address', () => {
  const statuses = async (count: number, init: RequestInit) => {
    const found: number[] = [];
    for (let index = 0; index < count; index += 1)
      found.push((await ask(`/calendar/${index % 2 ? SECRET : OTHER}.ics`, init)).status);
    return found;
  };

  test('may make 30 requests a minute, found or not, and is told when it may make the next', async () => {
    expect(await statuses(30, {})).not.toContain(429);
    for (const path of [`/unsubscribe/${TOKEN}`, '/elsewhere']) {
      const refused = await ask(path, { method: 'POST' });
      expect([refused.status, await refused.text()]).toEqual([429, 'Too many requests.\n']);
      const seconds = Number(refused.headers.get('retry-after'));
      expect(seconds).toBeGreaterThan(40);
      expect(seconds).toBeLessThanOrEqual(60);
    }
    expect(switchedOff).toEqual([]);
  });

  test('is that of the connection where the proxy names none', async () => {
    await statuses(30, from('nobody'));
    expect((await statuses(1, from('another name')))[0]).toBe(429);
  });

  test('behind a proxy is the one that the proxy names, and an IPv6 network of 64 bits is one', async () => {
    await statuses(30, from('203.0.113.7'));
    expect((await statuses(1, from('203.0.113.7')))[0]).toBe(429);
    expect((await statuses(1, from('198.51.100.1, 203.0.113.7')))[0]).toBe(429);
    expect((await statuses(1, from('203.0.113.8')))[0]).toBe(404);
    await statuses(30, from('2001:db8:1:2::1'));
    expect((await statuses(1, from('2001:0DB8:1:2:ffff::9')))[0]).toBe(429);
    expect((await statuses(1, from('2001:db8:1:3::1')))[0]).toBe(404);
    // As an IPv4 address is written where both are listened to.
    await statuses(30, from('::ffff:198.51.100.7'));
    expect((await statuses(1, from('198.51.100.7')))[0]).toBe(429);
    expect((await statuses(1, from('::ffff:198.51.100.8')))[0]).toBe(404);
  });
});

test.each(['10.0.0.5', '172.18.0.2', '192.168.1.2', '169.254.1.1', 'fd00::5', '::ffff:10.0.0.5'])(
  'a proxy at %s says for whom it asks, and the proxy itself has no limit',
  async (proxy) => {
    const app = await buildHttpApp({
      findCalendar: async () => undefined,
      isUnsubscribeToken: async () => false,
      switchEmailOff: async () => false,
      switchEmailOn: async () => undefined,
      logger: pino({ level: 'silent' }),
      trustedProxies: ['linklocal', 'uniquelocal'],
    });
    const statusFor = async (client: string, remoteAddress: string) => {
      const headers = { 'x-forwarded-for': client };
      return (await app.inject({ url: '/unsubscribe/x', headers, remoteAddress })).statusCode;
    };
    const clients = Array.from({ length: 31 }, (_, index) => `203.0.113.${index}`);
    expect(await Promise.all(clients.map((client) => statusFor(client, proxy)))).toEqual(Array(31).fill(404));
    // Elsewhere, anybody could name others.
    const strangers: number[] = [];
    for (const client of clients) strangers.push(await statusFor(client, '198.51.100.1'));
    expect(strangers).toEqual([...Array(30).fill(404), 429]);
    await app.close();
  },
);

test('while a service is away the answer is 503, to be asked again, and the log says why', async () => {
  log.length = 0;
  fault = new ServiceError('UNAVAILABLE', { cause: new Error('away') });
  for (const [method, path] of [
    ['GET', `/calendar/${SECRET}.ics`],
    ['GET', `/unsubscribe/${TOKEN}`],
    ['POST', `/unsubscribe/${TOKEN}`],
    ['POST', `/unsubscribe/${TOKEN}/undo`],
  ] as const) {
    const response = await ask(path, { method });
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(response.headers.get('cache-control')).toBe('no-store');
  }
  // Of many refusals in a second, the log has ten: those of other tests may be among them.
  const linesOfAnother = async () => {
    await ask(`/calendar/${SECRET}.ics`);
    return log.map((line) => JSON.parse(line));
  };
  await expect
    .poll(linesOfAnother, { interval: 1000 })
    .toContainEqual(expect.objectContaining({ reason: 'UNAVAILABLE', cause: 'away' }));
});

test('an error of ours is logged with its stack, and tells nothing', async () => {
  fault = new Error('column is missing');
  const response = await ask(`/calendar/${SECRET}.ics`);
  expect([response.status, await response.text()]).toEqual([500, 'Something went wrong.\n']);
  expect(log.join('')).toContain('column is missing');
});

test.each([
  ['an unknown version', 'HTTP/9.9\r\n'],
  ['no Host', 'HTTP/1.1\r\nConnection: close\r\n'],
])('malformed HTTP is refused, such as %s, and is no error of ours', async (_what, rest) => {
  log.length = 0;
  const socket = connect(end.port, '127.0.0.1');
  socket.end(`GET /calendar/${SECRET}.ics ${rest}\r\n`);
  let text = '';
  for await (const chunk of socket) text += chunk;
  expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(log.join('')).not.toContain('request failed');
});

test('no answer sets a cookie, and no line of the log holds a secret', async () => {
  for (const path of [
    `/calendar/${SECRET}.ics`,
    `/unsubscribe/${TOKEN}`,
    `/calendar/${OTHER}.ics?${SECRET}`,
  ]) {
    const response = await ask(path);
    expect(response.headers.has('set-cookie')).toBe(false);
  }
  const lines = log.map((line) => JSON.parse(line));
  expect(lines.map(({ route }) => route)).toContain('/calendar/:file');
  expect(lines.map(({ route }) => route)).toContain('/unsubscribe/:token');
  expect(log.join('')).not.toMatch(/4hDGj2cF3m/);
});

let end: HttpServer;
let origin: string;
let tests = 0;
let fault: Error | undefined;
let switchedOff: string[] = [];
/** E-mail stays off for another reason. */
let stays = false;
const log: string[] = [];

async function startAll(): Promise<void> {
  const answer = <T>(value: T): Promise<T> => (fault ? Promise.reject(fault) : Promise.resolve(value));
  const app = () =>
    buildHttpApp({
      findCalendar: (secret) => answer(secret === SECRET ? feed : undefined),
      isUnsubscribeToken: (token) => answer(token === TOKEN),
      switchEmailOff: (token) => {
        if (token === TOKEN) switchedOff.push(token);
        return answer(token === TOKEN);
      },
      switchEmailOn: (token) => {
        if (token === TOKEN) switchedOff.pop();
        return answer(token === TOKEN ? !stays : undefined);
      },
      logger: pino({ level: 'trace' }, { write: (line: string) => void log.push(line) }),
      trustedProxies: ['loopback'],
    });
  end = await startHttp(app, { host: '127.0.0.1', port: 0 });
  origin = `http://127.0.0.1:${end.port}`;
}

function prepareEach(): void {
  // Each test asks from an address of its own.
  tests += 1;
  fault = undefined;
  switchedOff = [];
}

const ask = (path: string, init: RequestInit = {}) =>
  fetch(`${origin}${path}`, {
    ...init,
    headers: { 'x-forwarded-for': `203.0.114.${tests}`, ...init.headers },
  });
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

const feed = calendarFeed({
  userId: 'u',
  timeZone: 'Europe/Berlin',
  days: [{ date: '2030-03-31', count: 3 }],
  now: new Date('2030-03-31T10:00:00Z'),
});
