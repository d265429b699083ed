// Our client hands over an answer before its trailers; grpc-js itself, asked the same of the same server, after them.
import { once } from 'node:events';
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Client, credentials, type ServiceError as GrpcError } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CancelSnoozeRequestInput } from '../../generated/scheduling/v1/CancelSnoozeRequest.ts';
import type { CancelSnoozeResponse } from '../../generated/scheduling/v1/CancelSnoozeResponse.ts';
import type { SnoozeServiceDefinition } from '../../generated/scheduling/v1/SnoozeService.ts';
import { toServiceError } from '../../services/platform/errors.ts';
import { clientsOf, type GrpcClient } from '../../services/platform/grpc/client.ts';
import { fromGrpcError } from '../../services/platform/grpc/status.ts';
import { loadProto, serviceDefinition } from '../../services/platform/protobuf/load.ts';

const { CancelSnooze } = serviceDefinition<SnoozeServiceDefinition>(
  loadProto('scheduling.v1'),
  'scheduling.v1.SnoozeService',
);
const REQUEST: CancelSnoozeRequestInput = { userId: 'somebody', snoozeId: 'something' };
const DEADLINE_MS = 20_000;

/** What the server sends of a call: the bytes of its message in pieces, then trailers with a status, or a reset of the stream. */
type Script = { pieces: Buffer[]; end: { status: number } | { resetCode: number } };

const server = createServer();
const sessions: ServerHttp2Session[] = [];
let script: Script = { pieces: [], end: { status: 0 } };
let ours: GrpcClient<SnoozeServiceDefinition>;
let plain: Client;

beforeAll(async () => {
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream: ServerHttp2Stream) => void play(stream, script));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const target = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const trust = { serviceTokens: [], tls: undefined };
  ours = clientsOf('scheduling.v1', { target, trust, caller: 'test', deadlineMs: DEADLINE_MS })(
    'SnoozeService',
  );
  plain = new Client(target, credentials.createInsecure());
});
afterAll(async () => {
  ours.close();
  plain.close();
  for (const session of sessions) session.destroy();
  server.close();
});

async function play(stream: ServerHttp2Stream, { pieces, end }: Script): Promise<void> {
  stream.on('error', () => {});
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
  for (const piece of pieces) await new Promise((resolve) => stream.write(piece, resolve));
  if ('resetCode' in end) {
    stream.close(end.resetCode);
    return;
  }
  stream.on('wantTrailers', () =>
    stream.sendTrailers({ 'grpc-status': `${end.status}`, 'grpc-message': 'said' }),
  );
  stream.end();
}

type Outcome = { response: CancelSnoozeResponse } | { reason: string; said: string };

const outcomeOfOurs = (): Promise<Outcome> =>
  ours.cancelSnooze(REQUEST, { requestId: 'test' }).then(
    (response) => ({ response }),
    (error: unknown) => toFailure(toServiceError(error)),
  );

function outcomeOfPlain(): Promise<Outcome> {
  const { path, requestSerialize, responseDeserialize } = CancelSnooze;
  const deadline = Date.now() + DEADLINE_MS;
  return new Promise((resolve) => {
    const settle = (error: GrpcError | null, response?: CancelSnoozeResponse) => {
      if (error !== null) resolve(toFailure(fromGrpcError(error)));
      else if (response !== undefined) resolve({ response });
    };
    plain.makeUnaryRequest(path, requestSerialize, responseDeserialize, REQUEST, { deadline }, settle);
  });
}

const toFailure = ({ reason, message }: { reason: string; message: string }): Outcome => ({
  reason,
  said: message,
});

const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const encoded = fc
  .record({ snoozeId: text, materialIds: fc.array(text, { maxLength: 20 }) })
  .map((message) => CancelSnooze.responseSerialize(message));
const message = fc
  .oneof(
    encoded,
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  )
  .map(framed);

/** As gRPC frames it: not compressed, its length, its bytes. */
function framed(bytes: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** Cut at up to four places. */
const inPieces = (bytes: Buffer): fc.Arbitrary<Buffer[]> =>
  fc.array(fc.nat(bytes.length), { maxLength: 4 }).map((places) => {
    const ends = [...places.toSorted((a, b) => a - b), bytes.length];
    return ends
      .map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
      .filter(({ length }) => length > 0);
  });

/** Our services send a whole message and OK, or no message and another status; a process that dies sends a part of one. */
const scripts: fc.Arbitrary<Script> = fc.oneof(
  { weight: 3, arbitrary: message.chain(inPieces).map((pieces) => ({ pieces, end: { status: 0 } })) },
  fc.integer({ min: 0, max: 16 }).map((status) => ({ pieces: [], end: { status } })),
  fc.tuple(message, fc.nat(99), fc.constantFrom(0, 1, 2, 7, 8, 11)).chain(([bytes, percent, resetCode]) =>
    inPieces(bytes.subarray(0, Math.floor((bytes.length * percent) / 100))).map((pieces) => ({
      pieces,
      end: { resetCode },
    })),
  ),
);

test('an answer that is handed over early is the one that grpc-js hands over, however it arrives or fails', async () => {
  await fc.assert(
    fc.asyncProperty(scripts, async (next) => {
      script = next;
      const [early, late] = await Promise.all([outcomeOfOurs(), outcomeOfPlain()]);
      expect(early).toEqual(late);
    }),
    { numRuns: 500 },
  );
});
