// A call that sends a stream of messages: how fast it goes, and how it ends early.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ImportUserDataRequest } from '../../../generated/scheduling/v1/ImportUserDataRequest.ts';
import type {
  UserDataServiceDefinition,
  UserDataServiceHandlers,
} from '../../../generated/scheduling/v1/UserDataService.ts';
import { ServiceError } from '../../../services/platform/errors.ts';
import { clientsOf, type GrpcClient } from '../../../services/platform/grpc/client.ts';
import { implement } from '../../../services/platform/grpc/handlers.ts';
import { type GrpcServer, startGrpcServer } from '../../../services/platform/grpc/server.ts';
import { createLogger } from '../../../services/platform/logging/logger.ts';

beforeAll(startAll);
afterAll(stopAll);
beforeEach(() => {
  sent = 0;
});

test('the server gets every message, and the client its response', async () => {
  receive = async (requests) => {
    let count = 0;
    for await (const _ of requests) count += 1;
    return count;
  };
  const { materials } = await client.importUserData(messages(20), CALL);
  expect(materials?.new).toBe(20);
});

test('a client waits while the server reads no further', async () => {
  const goOn = Promise.withResolvers<void>();
  const hasBegun = Promise.withResolvers<void>();
  receive = async (requests) => {
    let count = 0;
    for await (const _ of requests) {
      count += 1;
      hasBegun.resolve();
      await goOn.promise;
    }
    return count;
  };
  const response = client.importUserData(messages(500), CALL);
  await hasBegun.promise;
  // Until nothing more was sent for a while: some 4 MiB are on their way.
  for (let before = -1; before !== sent; ) {
    before = sent;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  expect(sent).toBeLessThan(200);
  goOn.resolve();
  expect((await response).materials?.new).toBe(500);
});

test('a refusal in the midst reaches the client, which sends no more', async () => {
  receive = async (requests) => {
    for await (const _ of requests)
      throw new ServiceError('NOT_FOUND', { field: 'user_id', message: 'gone' });
    return 0;
  };
  const call = client.importUserData(messages(5000), CALL);
  await expect(call).rejects.toMatchObject({ reason: 'NOT_FOUND', field: 'user_id', message: 'gone' });
  expect(sent).toBeLessThan(5000);
});

test('a client whose messages fail cancels the call, and the server learns of it', async () => {
  const ended = Promise.withResolvers<boolean>();
  receive = async (requests, signal) => {
    signal.addEventListener('abort', () => ended.resolve(true));
    for await (const _ of requests);
    return 0;
  };
  async function* failing() {
    yield* messages(1);
    throw new Error('the file ends here');
  }
  await expect(client.importUserData(failing(), CALL)).rejects.toThrow('the file ends here');
  expect(await ended.promise).toBe(true);
});

const trust = { serviceTokens: [], tls: undefined };
const CALL = { requestId: 'test' };
let receive: (requests: Requests, signal: AbortSignal) => Promise<number>;
let server: GrpcServer;
let client: GrpcClient<UserDataServiceDefinition, 'ExportUserData', 'ImportUserData'>;

async function startAll(): Promise<void> {
  server = await startGrpcServer({
    domain: 'scheduling.v1',
    host: '127.0.0.1',
    port: 0,
    trust,
    logger: createLogger('test', 'silent'),
    services: [
      implement<UserDataServiceHandlers>('UserDataService', {
        ExportUserData: async () => {},
        DeleteUserData: async () => ({}),
        ImportUserData: async (requests, { signal }) => ({
          materials: { new: await receive(requests, signal) },
        }),
      }),
    ],
  });
  const target = `127.0.0.1:${server.port}`;
  const connect = clientsOf('scheduling.v1', { target, trust, caller: 'test', deadlineMs: 5000 });
  client = connect<UserDataServiceDefinition, 'ExportUserData', 'ImportUserData'>('UserDataService');
}

async function stopAll(): Promise<void> {
  client.close();
  await server.close(500);
}

let sent = 0;

type Requests = AsyncIterable<ImportUserDataRequest>;

/** `count` messages of 64 KiB, each made when the one before was taken. */
async function* messages(count: number) {
  for (; sent < count; sent += 1) yield { options: { userId: 'a'.repeat(65_536) } };
}
