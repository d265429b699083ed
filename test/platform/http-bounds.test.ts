import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { boundConnections } from '../../services/platform/http/connections.ts';
import { createAsset, sendAsset } from '../../services/platform/http/content/asset.ts';
import { registerCompression } from '../../services/platform/http/content/compression.ts';
import { limitUnreadResponses } from '../../services/platform/http/unread-responses.ts';

const MIB = 1024 * 1024;
let app: FastifyInstance;
const sockets: Socket[] = [];
let onRequest = async () => {};
/** How many answers. */
let made = 0;
afterEach(async () => {
  vi.useRealTimers();
  onRequest = async () => {};
  made = 0;
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

const keyOf = ({ headers }: { headers: Record<string, unknown> }) => String(headers['x-key'] ?? 'anonymous');

/** Answers any number of MiB; requests with x-key have a key. */
async function start(): Promise<number> {
  app = Fastify();
  const connections = boundConnections(app);
  registerCompression(app);
  limitUnreadResponses(app, { fairnessKeyOf: keyOf, refusal: '{"refused":true}' });
  app.addHook('onRequest', async (request) => {
    if ('x-key' in request.headers) connections.adopt(request, keyOf(request));
    await onRequest();
  });
  const file = createAsset('text/plain', Buffer.alloc(20 * MIB));
  app.get('/file', (request, reply) => sendAsset(request, reply, file));
  app.get('/:mib', (request, reply) => {
    const { mib } = request.params as { mib: string };
    made += 1;
    return reply.type('text/plain').send('a'.repeat(Number(mib) * MIB));
  });
  return Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

const requestFor = (mib: number, key?: string) =>
  `GET /${mib} HTTP/1.1\r\nHost: x\r\n${key === undefined ? '' : `x-key: ${key}\r\n`}\r\n`;

async function openUnread(port: number, mib: number, key?: string): Promise<Socket> {
  const socket = await open(port);
  socket.pause().write(requestFor(mib, key));
  return socket;
}

const ask = async (mib: number, key: string) => {
  const { statusCode, body } = await app.inject({ url: `/${mib}`, headers: { 'x-key': key } });
  return [statusCode, body.length];
};

describe('unread responses', () => {
  test('count against their key, which gets 503 beyond 80 MiB; other keys are answered', async () => {
    const port = await start();
    for (let count = 0; count < 4; count += 1) await openUnread(port, 19, 'greedy');
    await expect.poll(() => ask(19, 'greedy')).toEqual([503, '{"refused":true}'.length]);
    expect(await ask(19, 'modest')).toEqual([200, 19 * MIB]);
    for (const socket of sockets.splice(0)) socket.destroy();
    await expect.poll(() => ask(19, 'greedy')).toEqual([200, 19 * MIB]);
  });

  test('of clients that hung up before they were made do not count', async () => {
    const port = await start();
    for (let count = 0; count < 5; count += 1) {
      const { promise: gone, resolve } = Promise.withResolvers<void>();
      app.server.once('request', (_request, response) => response.once('close', resolve));
      onRequest = () => gone;
      (await openUnread(port, 20, 'mobile')).destroy();
      await gone;
    }
    onRequest = async () => {};
    await expect.poll(() => made).toBe(5);
    expect(await ask(1, 'mobile')).toEqual([200, MIB]);
  });

  test('make a refusal that is not compressed, even where the response was', async () => {
    const port = await start();
    for (let count = 0; count < 4; count += 1) {
      const socket = await open(port);
      socket.write(requestFor(20, 'greedy'));
      await once(socket, 'readable');
    }
    const { statusCode, headers, body } = await app.inject({
      url: '/1',
      headers: { 'x-key': 'greedy', 'accept-encoding': 'gzip' },
    });
    expect([statusCode, headers['content-encoding'], body]).toEqual([503, undefined, '{"refused":true}']);
  });

  test('leave their connection open once they are read, however long after', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let taken = 0;
    const port = await start();
    app.server.on('request', (_request, response) => {
      response.once('close', () => {
        taken += 1;
      });
    });
    const socket = await open(port);
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    socket.write(requestFor(2));
    await expect.poll(() => bytes).toBeGreaterThan(2 * MIB);
    await expect.poll(() => taken).toBe(1);
    vi.advanceTimersByTime(60_000);
    const first = bytes;
    socket.write(requestFor(0));
    await expect.poll(() => bytes).toBeGreaterThan(first);
  });

  test('of all anonymous callers count together', async () => {
    const port = await start();
    for (let count = 0; count < 4; count += 1) await openUnread(port, 19);
    await expect.poll(() => ask(19, 'anonymous')).toEqual([503, 16]);
    expect(await ask(1, 'modest')).toEqual([200, MIB]);
  });

  test('of a file that all share do not count', async () => {
    const port = await start();
    for (let count = 0; count < 10; count += 1) {
      const socket = await open(port);
      socket.write('GET /file HTTP/1.1\r\nHost: x\r\n\r\n');
      // Takes the first bytes, and no more.
      await once(socket, 'readable');
    }
    expect(await ask(19, 'anonymous')).toEqual([200, 19 * MIB]);
  });

  test('of several keys beyond 256 MiB leave small answers to keys with few unread bytes', async () => {
    const port = await start();
    for (const key of ['a', 'b', 'c', 'd'])
      for (let count = 0; count < 4; count += 1) await openUnread(port, 18, key);
    await expect.poll(() => ask(18, 'e')).toEqual([503, 16]);
    expect(await ask(1, 'e')).toEqual([200, MIB]);
  });
});

describe('a connection', () => {
  test('may have 32 requests under way, and is closed at the 33rd', async () => {
    const port = await start();
    const socket = await open(port);
    socket.pause().write(requestFor(1, 'k').repeat(32));
    const other = await open(port);
    other.resume().write(requestFor(1, 'k').repeat(33));
    await once(other, 'close');
    expect(socket.destroyed).toBe(false);
  });

  test('has its requests worked one after the other, and none of those beyond the 32nd', async () => {
    const port = await start();
    let [arrived, atWork, most] = [0, 0, 0];
    const gate = Promise.withResolvers<void>();
    app.server.prependListener('request', () => {
      arrived += 1;
    });
    onRequest = async () => {
      atWork += 1;
      most = Math.max(most, atWork);
      await gate.promise;
      atWork -= 1;
      worked += 1;
    };
    let worked = 0;
    const legal = await open(port);
    legal.resume().write(requestFor(0, 'k').repeat(32));
    await expect.poll(() => arrived).toBe(32);
    gate.resolve();
    await expect.poll(() => worked).toBe(32);
    expect(most).toBe(1);
    const greedy = await open(port);
    greedy.resume().write(requestFor(0, 'k').repeat(400));
    await once(greedy, 'close');
    expect([arrived > 64, worked]).toEqual([true, 33]);
  });

  test('on which no key was shown is closed when 2,000 younger ones are there; one with a key is not', async () => {
    const port = await start();
    const known = await open(port);
    known.write(requestFor(0, 'k'));
    await once(known, 'data');
    const oldest = await open(port);
    let isClosed = false;
    oldest.on('close', () => {
      isClosed = true;
    });
    for (let count = 0; count < 1999; count += 1) await open(port);
    known.write(requestFor(0, 'k'));
    await once(known, 'data');
    expect(isClosed).toBe(false);
    await open(port);
    await expect.poll(() => isClosed).toBe(true);
    known.write(requestFor(0, 'k'));
    await once(known, 'data');
  });

  test('of a key with 1,000 younger connections is closed', async () => {
    const port = await start();
    const oldest = await open(port);
    const closed = once(oldest, 'close');
    oldest.resume().write(requestFor(0, 'k'));
    for (let count = 0; count < 1000; count += 1) {
      const socket = await open(port);
      socket.write(requestFor(0, 'k'));
      await once(socket, 'data');
    }
    await closed;
    expect(await ask(1, 'k')).toEqual([200, MIB]);
  });
});
