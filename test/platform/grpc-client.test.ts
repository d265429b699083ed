// Which way a call takes, and what becomes of an answer that cannot be read, or never comes: against a bare HTTP/2 server.
import { once } from 'node:events';
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { SnoozeServiceDefinition } from '../../generated/scheduling/v1/SnoozeService.ts';
import { clientsOf, type GrpcClient } from '../../services/platform/grpc/client.ts';
import { recordSpans } from '../support/spans.ts';

beforeAll(startAll);
beforeEach(prepareEach);
afterAll(stopAll);

test('a message that cannot be read is an error, not silence', async () => {
  const answer = ask();
  const stream = await nextCall();
  // A field of wire type 7, which there is not.
  stream.write(framed(0x1f));
  await expect(answer).rejects.toMatchObject({ reason: 'INTERNAL_ERROR' });
});

test.each([0, 1, 2, 8])('a call that is cut with the HTTP/2 code %i is one to send again', async (code) => {
  const answer = ask();
  (await nextCall()).close(code);
  await expect(answer).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
});

test('a status without a message is an error', async () => {
  const answer = ask();
  const stream = await nextCall();
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '14', 'grpc-message': 'away' }));
  stream.end();
  await expect(answer).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
});

test('a call whose answer never comes ends at its deadline', async () => {
  const answer = ask({ deadlineMs: 300 });
  await expect(answer).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
  await expect.poll(() => spans.map(({ failure }) => failure)).toContain('DEADLINE_EXCEEDED');
});

test('a call takes the direct way, also where the environment names a proxy for the way to the Internet', async () => {
  vi.stubEnv('grpc_proxy', 'http://127.0.0.1:1');
  vi.stubEnv('no_proxy', '');
  const direct = connect();
  vi.unstubAllEnvs();
  void nextCall().then((stream) => stream.write(framed(0x1f)));
  const answer = direct.listSnoozes({ userId: 'somebody' }, { requestId: 'test' });
  await expect(answer).rejects.toMatchObject({ reason: 'INTERNAL_ERROR' });
  direct.close();
});

const server = createServer();
const sessions: ServerHttp2Session[] = [];
const spans = recordSpans();
let client: GrpcClient<SnoozeServiceDefinition>;

async function startAll(): Promise<void> {
  server.on('session', (session) => sessions.push(session));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  client = connect();
}

function connect(): GrpcClient<SnoozeServiceDefinition> {
  const target = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const trust = { serviceTokens: [], tls: undefined };
  const options = { target, trust, caller: 'test', deadlineMs: 20_000 };
  return clientsOf('scheduling.v1', options)('SnoozeService');
}

async function stopAll(): Promise<void> {
  client.close();
  for (const session of sessions) session.destroy();
  server.close();
}

function prepareEach(): void {
  spans.length = 0;
}

/** One message as gRPC frames it: not compressed, its length, its bytes. */
const framed = (...bytes: number[]) => Buffer.from([0, 0, 0, 0, bytes.length, ...bytes]);

/** The next call that arrives, with its answer's head sent. */
async function nextCall(): Promise<ServerHttp2Stream> {
  const [stream] = (await once(server, 'stream')) as [ServerHttp2Stream];
  stream.on('error', () => {});
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
  return stream;
}

const ask = (more: { deadlineMs?: number } = {}) =>
  client.listSnoozes({ userId: 'somebody' }, { requestId: 'test', ...more });
