// Push messages at a real push service, read by another implementation of the encryption; and what its answers mean.
import { createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import webPush from 'web-push';
import type { PushAddress, ReminderMessage } from '../../../services/reminders/channels/channel.ts';
import {
  type BrowserAddress,
  createPushChannel,
  type PushOptions,
} from '../../../services/reminders/channels/push.ts';
import { CHANNELS } from '../../../services/reminders/channels/registry.ts';
import { makeVapidKeys, readVapidKeys } from '../../../services/reminders/channels/vapid-keys.ts';
import { makeCertificates } from '../../support/certificates.ts';
import { message } from './message.ts';
import { createBrowser, startPushEnd } from './push-end.ts';

afterAll(() => certificates.remove());
afterEach(cleanUp);

describe('a push message', () => {
  test('is read by the browser, and tells count, titles and where to go', async () => {
    const [end, browser] = [await pushEnd(), createBrowser()];
    const address = { endpoint: `${end.origin}/push/secret?x=1`, ...browser.keys };
    expect(await channel().send(message(), address)).toEqual({ result: 'sent' });
    const [{ method, path, headers, body } = expect.fail('nothing arrived')] = end.received;
    expect({ method, path }).toEqual({ method: 'POST', path: '/push/secret?x=1' });
    expect(headers).toMatchObject({
      'content-encoding': 'aes128gcm',
      'content-type': 'application/octet-stream',
      ttl: '7200',
      topic: '0198c0de000070008000000000000001',
      urgency: 'normal',
    });
    expect(browser.read(body)).toEqual({
      title: '7 materials are due',
      body: 'Photosynthesis · Mitosis',
      url: 'https://app.example.com/',
      dueCount: 7,
    });
  });

  test('is signed for the origin of the push service, for twelve hours', async () => {
    const [end, browser] = [await pushEnd(), createBrowser()];
    await channel().send(message(), { endpoint: `${end.origin}/a`, ...browser.keys });
    const { authorization = '' } = end.received[0]?.headers ?? {};
    const [, head = '', claims = '', signature = '', k = ''] =
      /^vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)$/.exec(authorization) ?? [];
    expect(k).toBe(keys.publicKey);
    const read = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString());
    expect(read(head)).toEqual({ typ: 'JWT', alg: 'ES256' });
    const { exp, ...others } = read(claims);
    expect(others).toEqual({ aud: end.origin, sub: 'mailto:ops@example.com' });
    expect(Math.abs(exp - Date.now() / 1000 - 12 * 3600)).toBeLessThan(60);
    const point = Buffer.from(k, 'base64url');
    const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')];
    const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
    const signed = Buffer.from(`${head}.${claims}`);
    const options = { key, dsaEncoding: 'ieee-p1363' } as const;
    expect(verify('sha256', signed, options, Buffer.from(signature, 'base64url'))).toBe(true);
  });

  test('is at most 4,096 bytes with the longest titles, and has none of them where they are off', async () => {
    const [end, browser] = [await pushEnd(), createBrowser()];
    const address = { endpoint: `${end.origin}/a`, ...browser.keys };
    const titles = Array.from({ length: 5 }, () => '"\u202e👩‍👩‍👧‍👦'.repeat(100));
    await channel().send(message({ titles }), address);
    await channel({ showTitles: false, appUrl: undefined }).send(message({ titles, isTest: true }), address);
    const [long, without] = end.received.map(({ body }) => body);
    expect(long?.length).toBeLessThanOrEqual(4096);
    expect(JSON.stringify(browser.read(long ?? Buffer.alloc(0)))).not.toContain('\u202e');
    expect(browser.read(without ?? Buffer.alloc(0))).toEqual({
      title: 'Test: 7 materials are due',
      body: 'Time to review.',
      url: null,
      dueCount: 7,
    });
  });

  test('is kept for a browser that is away until two hours after its turn, and no longer', async () => {
    const [end, browser] = [await pushEnd(), createBrowser()];
    const address = { endpoint: `${end.origin}/a`, ...browser.keys };
    for (const expireTime of ['2030-03-31T10:30:00.500Z', '2030-03-31T09:59:59Z'])
      await channel().send(message({ expireTime: new Date(expireTime) }), address);
    expect(end.received.map(({ headers }) => headers.ttl)).toEqual(['1800', '0']);
  });
});

const keys = readVapidKeys(makeVapidKeys());

describe('a push service that answers', () => {
  const ask = async (
    answer: RequestListener,
    options: Partial<PushOptions> = {},
    address: Partial<PushAddress> = {},
  ) => {
    const end = await pushEnd(answer);
    const browser = { endpoint: `${end.origin}/a`, ...createBrowser().keys };
    return channel(options).send(message(), { ...browser, ...address });
  };

  test('403 was subscribed with other keys than ours, and has lost the subscription', async () => {
    const [, vapidKey = ''] = /^(.+):/.exec(makeVapidKeys()) ?? [];
    expect(await ask(answering(403), {}, { vapidKey })).toEqual({
      result: 'failed',
      reason: 'The push service refused our keys for this browser (403).',
      cause: 'gone',
    });
  });

  test('503 with a date is asked again, and not before it', async () => {
    const headers = { 'retry-after': 'Sun, 31 Mar 2030 10:05:00 GMT' };
    expect(await ask(answering(503, headers))).toEqual({
      result: 'retry',
      reason: 'The push service refused for now (503).',
      retryAfterMs: 300_000,
    });
  });

  test.each([301, 302, 307, 308])('%i to a private address is not followed there', async (status) => {
    const victim = await pushEnd();
    expect(await ask(answering(status, { location: `${victim.origin}/admin` }))).toEqual({
      result: 'failed',
      reason: `The push service refused the message (${status}).`,
      cause: 'refused',
    });
    expect(victim.connections()).toBe(0);
  });

  test('with an upgrade to another protocol is asked again', async () => {
    const upgrade: RequestListener = ({ socket }) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n');
    expect(await ask(upgrade)).toEqual({
      result: 'retry',
      reason: 'The push service could not be reached (unknown).',
    });
  });

  test('nothing is asked again', async () => {
    expect(await ask(() => {}, { timeoutMs: 200 })).toEqual({
      result: 'retry',
      reason: 'The push service did not answer in time.',
    });
  });

  test('byte by byte, for longer than a message may take, is asked again', async () => {
    const slow: RequestListener = async ({ socket }) => {
      for (const byte of 'HTTP/1.1 201 Created\r\n\r\n') {
        if (!socket.destroyed) socket.write(byte);
        await sleep(100);
      }
    };
    expect(await ask(slow, { timeoutMs: 500 })).toEqual({
      result: 'retry',
      reason: 'The push service did not answer in time.',
    });
  });

  test('slowly gets none twice: none of the 128 that it is sent at once waits for a connection', async () => {
    const open: ServerResponse[] = [];
    // None is answered before all have arrived.
    const end = await pushEnd((_request, response) => {
      if (open.push(response) === 128) for (const each of open) each.writeHead(201).end();
    });
    const address = { endpoint: `${end.origin}/`, ...createBrowser().keys };
    const { send } = channel({ timeoutMs: 20_000 });
    const results = await Promise.all(Array.from({ length: 128 }, () => send(message(), address)));
    expect(results).toEqual(Array(128).fill({ result: 'sent' }));
  });

  test('with a short body gets further messages over a connection that is there', async () => {
    const end = await pushEnd((_request, response) => response.writeHead(201).end('thank you'));
    const address = { endpoint: `${end.origin}/`, ...createBrowser().keys };
    const { send } = channel();
    for (let sent = 1; sent <= 20; sent += 1) await send(message(), address);
    expect(end.received).toHaveLength(20);
    // A message that follows at once can come before the body has been read.
    expect(end.connections()).toBeLessThan(20);
  });

  test('with a body without end is cut off', async () => {
    const closed = Promise.withResolvers<void>();
    const endless: RequestListener = (_request, response) => {
      response.writeHead(201);
      response.once('close', closed.resolve);
      const write = () => {
        while (response.write(Buffer.alloc(16 * 1024)));
        if (!response.destroyed) response.once('drain', write);
      };
      write();
    };
    // The time-out must not be what ends it.
    expect(await ask(endless, { timeoutMs: 600_000 })).toEqual({ result: 'sent' });
    await closed.promise;
  });

  test('with a certificate of nobody’s, or not at all, is asked again', async () => {
    expect(await ask(answering(201), { ca: '' })).toEqual({
      result: 'retry',
      reason: 'The push service could not be reached (UNABLE_TO_VERIFY_LEAF_SIGNATURE).',
    });
    const end = await pushEnd();
    end.stop();
    const address = { endpoint: `${end.origin}/a`, ...createBrowser().keys };
    expect(await channel().send(message(), address)).toEqual({
      result: 'retry',
      reason: 'The push service could not be reached (ECONNREFUSED).',
    });
  });
});

test.each(['ops@example.com', 'Ada’s reminders <ops@example.com>'])(
  'where MAIL_FROM is %s, push services reach the operator at its address alone',
  async (mailFrom) => {
    const requests = vi.spyOn(webPush, 'generateRequestDetails');
    ends.push(() => requests.mockRestore());
    const created = CHANNELS.push.create({
      mail: { mailDir: '/nowhere' },
      mailFrom,
      smtpConnections: 1,
      vapidKeys: keys,
      pushAllowPrivate: true,
      appUrl: undefined,
      showTitles: true,
    });
    ends.push(() => created?.close());
    // Nothing listens on port 1.
    const address = { endpoint: 'https://127.0.0.1:1/', ...createBrowser().keys };
    const subscription = { vapidKey: keys.publicKey, ...address };
    await created?.send(message(), { userId: 'ada', email: '', subscription });
    const subjects = requests.mock.calls.map(([, , options]) => options?.vapidDetails?.subject);
    expect(subjects).toEqual(['mailto:ops@example.com']);
  },
);

describe('a push message to a private address', () => {
  const notAllowed = { result: 'failed', reason: 'This push address is not allowed.', cause: 'refused' };

  test.each(['127.0.0.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost'])(
    'is not sent to %s, not even a connection is made',
    async (host) => {
      const end = await pushEnd();
      const endpoint = `https://${host}:${end.port}/a`;
      const address = { endpoint, ...createBrowser().keys };
      expect(await channel({ pushAllowPrivate: false }).send(message(), address)).toEqual(notAllowed);
      expect(end.connections()).toBe(0);
    },
  );

  test('waits where the name is not found', async () => {
    const address = { endpoint: 'https://push.invalid/a', ...createBrowser().keys };
    const { result } = await channel({ pushAllowPrivate: false }).send(message(), address);
    expect(result).toBe('retry');
  });
});

const certificates = makeCertificates();

const ca = readFileSync(certificates.environment.GRPC_TLS_CA);

const ends: (() => unknown)[] = [];

async function cleanUp(): Promise<void> {
  for (const end of ends.splice(0).toReversed()) await end();
}

function channel(options: Partial<PushOptions> = {}) {
  const created = createPushChannel({
    vapidKeys: keys,
    mailFrom: 'Study <ops@example.com>',
    appUrl: 'https://app.example.com/',
    showTitles: true,
    pushAllowPrivate: true,
    ca,
    ...options,
  });
  ends.push(() => created.close());
  return {
    send: (given: ReminderMessage, address: BrowserAddress & { vapidKey?: string | null }) => {
      const subscription = { vapidKey: keys.publicKey, ...address };
      return created.send(given, { userId: 'ada', email: '', subscription });
    },
  };
}

async function pushEnd(
  ...options: Parameters<typeof startPushEnd> extends [unknown, ...infer O] ? O : never
) {
  const end = await startPushEnd(certificates, ...options);
  ends.push(end.stop);
  return end;
}

const answering =
  (status: number, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) =>
    response.writeHead(status, headers).end();
