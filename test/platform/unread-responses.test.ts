// What becomes of answers that a client does not read: a bare HTTP/2 client against the services' gRPC server.
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { SnoozeServiceHandlers } from '../../generated/scheduling/v1/SnoozeService.ts';
import type { UserDataServiceHandlers } from '../../generated/scheduling/v1/UserDataService.ts';
import { implement } from '../../services/platform/grpc/handlers.ts';
import { type GrpcServer, startGrpcServer } from '../../services/platform/grpc/server.ts';
import type { UnreadLimits } from '../../services/platform/grpc/unread-responses.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

const PACKAGE = 'scheduling.v1';
const LIST = 'SnoozeService/ListSnoozes';
const EXPORT = 'UserDataService/ExportUserData';
const MEGABYTE = 1_000_000;
const text = (bytes: number) => 'x'.repeat(bytes);
let server: GrpcServer;
let session: ClientHttp2Session;
let answerBytes: number;
let messages: { count: number; bytes: number };
/** Resolves when the handler of a stream has ended, to how many messages it could send. */
let handled: Promise<number>;
let lines: { level: number; msg: string; rpc: string }[];

/** Returns a function that lets milliseconds pass for the server, which looks for unread answers meanwhile. */
function stopTime(): (ms: number) => void {
  let nowMs = 1_000_000;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  return (ms) => {
    nowMs += ms;
    vi.advanceTimersByTime(1000);
  };
}

async function start(bounds: UnreadLimits) {
  let end = (_sent: number) => {};
  handled = new Promise((resolve) => {
    end = resolve;
  });
  server = await startGrpcServer({
    domain: PACKAGE,
    host: '127.0.0.1',
    port: 0,
    trust: { serviceTokens: [], tls: undefined },
    logger: pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    services: [
      implement<SnoozeServiceHandlers>('SnoozeService', {
        SnoozeMaterials: async () => ({}),
        CancelSnooze: async () => ({}),
        ListSnoozes: async () => ({ nextPageToken: text(answerBytes) }),
      }),
      implement<UserDataServiceHandlers>('UserDataService', {
        DeleteUserData: async () => ({}),
        async ExportUserData(_request, { signal }, send) {
          let sent = 0;
          for (; sent < messages.count && !signal.aborted; sent += 1) {
            await send({ material: { title: text(messages.bytes) } });
          }
          end(sent);
        },
      }),
    ],
    ...bounds,
  });
  session = connect(`http://127.0.0.1:${server.port}`);
}

beforeEach(() => {
  lines = [];
  answerBytes = MEGABYTE;
  messages = { count: 1000, bytes: MEGABYTE };
});
afterEach(async () => {
  session.destroy();
  await server.close(500);
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Calls with an empty request. Nothing of the answer is read until somebody does. */
function call(method: string, over = session): ClientHttp2Stream {
  const stream = over.request({
    ':method': 'POST',
    ':path': `/${PACKAGE}.${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => {});
  stream.end(Buffer.alloc(5));
  return stream;
}

/** Resolves when the stream has ended, whatever its end. */
const closed = (stream: ClientHttp2Stream | ClientHttp2Session) =>
  new Promise<void>((resolve) => void (stream.closed ? resolve() : stream.once('close', resolve)));

/** Reads to the end; the bytes of the answer. */
async function read(stream: ClientHttp2Stream): Promise<number> {
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await closed(stream);
  return bytes;
}

test('an answer that is not read is cut, and others on the same connection are answered in full', async () => {
  const pass = stopTime();
  await start({ maxUnreadMs: 10_000 });
  const unread = call(LIST);
  const cut = closed(unread);
  await once(unread, 'response');
  expect(await read(call(LIST))).toBeGreaterThan(MEGABYTE);
  pass(10_000);
  expect(lines).toEqual([]);
  pass(1);
  await cut;
  expect(unread.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  expect(await read(call(LIST))).toBeGreaterThan(MEGABYTE);
  expect(lines).toMatchObject([
    { level: 40, rpc: `/${PACKAGE}.${LIST}`, msg: 'stream closed: the client does not read' },
  ]);
});

test('a stream that is not read is cut, and its handler told after few messages', async () => {
  await start({ maxUnreadMs: 1000 });
  const unread = call(EXPORT);
  await closed(unread);
  expect(unread.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  expect(await handled).toBeLessThan(3);
  expect(lines).toMatchObject([{ level: 40, rpc: `/${PACKAGE}.${EXPORT}` }]);
});

test('a stream that is read slowly lasts, as long as each message is taken in time', async () => {
  const pass = stopTime();
  await start({ maxUnreadMs: 10_000 });
  messages = { count: 16, bytes: 100_000 };
  const slow = call(EXPORT);
  let [bytes, taken] = [0, 0];
  slow.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    slow.pause();
    setImmediate(() => slow.resume());
    if (bytes < (taken + 1) * 100_000) return;
    taken += 1;
    // All take longer than the limit, and the service looks after each.
    pass(900);
  });
  await closed(slow);
  expect([slow.rstCode, await handled, lines]).toEqual([0, 16, []]);
  expect(bytes).toBeGreaterThan(16 * 100_000);
});

test('a connection on which so many bytes wait gets no more answers, others do, and it does once they are gone', async () => {
  await start({ maxUnreadBytes: 4 * MEGABYTE });
  const unread = Array.from({ length: 20 }, () => call(LIST));
  const statuses = await Promise.all(
    unread.map(async (stream) => (await once(stream, 'response'))[0]['grpc-status']),
  );
  expect(statuses.filter((status) => status === undefined).length).toBe(4);
  expect(statuses.filter((status) => status === '14').length).toBe(16);
  expect(lines.length).toBe(16);
  const other = connect(`http://127.0.0.1:${server.port}`);
  expect(await read(call(LIST, other))).toBeGreaterThan(MEGABYTE);
  other.destroy();
  for (const stream of unread) stream.close(constants.NGHTTP2_CANCEL);
  await Promise.all(unread.map(closed));
  await expect.poll(() => read(call(LIST))).toBeGreaterThan(MEGABYTE);
});

test('a connection that takes nothing at all is cut', async () => {
  await start({ maxUnreadMs: 1000 });
  const proxy = await startTcpProxy(server.port);
  const held = connect(`http://${proxy.target}`, { settings: { initialWindowSize: 2 ** 31 - 1 } });
  held.on('error', () => {});
  await once(held, 'remoteSettings');
  held.setLocalWindowSize(2 ** 31 - 1);
  // More than the buffers of both sockets.
  answerBytes = 60 * MEGABYTE;
  call(LIST, held).once('response', () => proxy.hold());
  await expect
    .poll(() => lines.map(({ msg }) => msg))
    .toEqual(['stream closed: the client does not read', 'connection closed: the client does not read']);
  proxy.release();
  await closed(held);
  await proxy.stop();
});

test('reflection takes no more requests while its answers are not read', async () => {
  await start({ maxUnreadMs: 1000 });
  const stream = session.request({
    ':method': 'POST',
    ':path': '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => {});
  // An unknown symbol of 10,000 bytes, in a field with number 4; the answer repeats it.
  const message = Buffer.concat([Buffer.from([0x22, 0x90, 0x4e]), Buffer.alloc(10_000, 'x')]);
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0x27, 0x13]), message]);
  let taken = 0;
  const send = () =>
    stream.write(frame, (error) => {
      if (error) return;
      taken += 1;
      send();
    });
  send();
  await closed(stream);
  // As many as the stream's window of 4 MiB holds, and a few.
  expect(taken).toBeLessThan(1000);
});

test('a connection has at most 512 calls at once', async () => {
  await start({});
  const [settings] = await once(session, 'remoteSettings');
  expect(settings.maxConcurrentStreams).toBe(512);
});
