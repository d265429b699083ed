// Stand-ins for accounts and scheduling over real gRPC, which answer what a test tells them to, when it tells them to.
import type {
  ApiKeyServiceDefinition,
  ApiKeyServiceHandlers,
} from '../../generated/accounts/v1/ApiKeyService.ts';
import type { VerifyApiKeyResponseInput } from '../../generated/accounts/v1/VerifyApiKeyResponse.ts';
import type { WatchRevocationsResponseInput } from '../../generated/accounts/v1/WatchRevocationsResponse.ts';
import type {
  MaterialServiceDefinition,
  MaterialServiceHandlers,
} from '../../generated/scheduling/v1/MaterialService.ts';
import type {
  ReviewServiceDefinition,
  ReviewServiceHandlers,
} from '../../generated/scheduling/v1/ReviewService.ts';
import type {
  SnoozeServiceDefinition,
  SnoozeServiceHandlers,
} from '../../generated/scheduling/v1/SnoozeService.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { type AsyncHandlers, type CallContext, implement } from '../../services/platform/grpc/handlers.ts';
import { startGrpcServer } from '../../services/platform/grpc/server.ts';
import { toTimestamp } from '../../services/platform/instants.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { loadProto, serviceDefinition } from '../../services/platform/protobuf/load.ts';
import { ALL_SCOPES } from './system.ts';

const trust = { serviceTokens: [], tls: undefined };
const logger = createLogger('test', 'silent');
const base = { host: '127.0.0.1', port: 0, trust, logger } as const;
const BEAT_MS = 100;

export type StubKey = { userId: string; apiKeyId: string; scopes?: string[]; expireTime?: Date };
type Stream = {
  send(event: WatchRevocationsResponseInput): Promise<void>;
  end(error?: ServiceError): void;
  stopBeating(): void;
};

/** Keys are valid while they stand in `keys`; whose answers are held are held until the test lets them go. */
export async function startStubAccounts() {
  const keys = new Map<string, StubKey>();
  const held = new Map<string, (() => void)[]>();
  const asked: string[] = [];
  const streams = new Set<Stream>();
  let watches = 0;
  let isMute = false;
  const answerOf = async (key: string): Promise<VerifyApiKeyResponseInput> => {
    const found = keys.get(key);
    if (found === undefined) throw new ServiceError('UNAUTHORIZED');
    const { userId, apiKeyId, scopes = ALL_SCOPES, expireTime } = found;
    const user = { userId, email: 'ada@example.com', plan: 'PLAN_FREE', timeZone: 'UTC' } as const;
    const end = expireTime && { expireTime: toTimestamp(expireTime) };
    return { user, apiKey: { apiKeyId, userId, scopes, ...end } };
  };
  const proto = loadProto('accounts.v1');
  const handlers: Partial<AsyncHandlers<ApiKeyServiceHandlers>> = {
    async VerifyApiKey({ key }) {
      asked.push(key);
      // What it will say is settled when it is asked.
      const answer = answerOf(key);
      answer.catch(() => {});
      const gates = held.get(key);
      if (gates !== undefined) await new Promise<void>((resolve) => gates.push(resolve));
      return answer;
    },
    async WatchRevocations(_request, { signal }, send) {
      watches += 1;
      const ended = Promise.withResolvers<void>();
      const beat = setInterval(() => void send({ heartbeat: {} }), BEAT_MS);
      const stream = {
        send,
        end: (error?: ServiceError) => (error === undefined ? ended.resolve() : ended.reject(error)),
        stopBeating: () => clearInterval(beat),
      };
      signal.addEventListener('abort', () => ended.resolve());
      streams.add(stream);
      if (isMute) stream.stopBeating();
      else await send({ heartbeat: {} });
      await ended.promise.finally(() => {
        clearInterval(beat);
        streams.delete(stream);
      });
    },
  };
  const definition = serviceDefinition<ApiKeyServiceDefinition>(proto, 'accounts.v1.ApiKeyService');
  const server = await startGrpcServer({
    ...base,
    domain: 'accounts.v1',
    services: [implement<ApiKeyServiceHandlers>('ApiKeyService', withDefaults(definition, handlers))],
  });
  return {
    target: `127.0.0.1:${server.port}`,
    port: server.port,
    keys,
    /** Every key that was asked for, in order. */
    asked,
    timesAsked: (key: string) => asked.filter((each) => each === key).length,
    watches: () => watches,
    /** Streams of revocations that stand now. */
    openWatches: () => streams.size,
    hold: (key: string) => void held.set(key, []),
    /** Lets the answers to `key` go that are held; later ones are not held. */
    release(key: string) {
      const gates = held.get(key) ?? [];
      held.delete(key);
      for (const release of gates) release();
    },
    announce: (event: WatchRevocationsResponseInput) =>
      Promise.all([...streams].map((stream) => stream.send(event))),
    endStreams(error?: ServiceError) {
      for (const stream of streams) stream.end(error);
    },
    /** New streams do not beat at all. */
    mute() {
      isMute = true;
    },
    unmute() {
      isMute = false;
    },
    /** Of the streams that stand; new ones beat. */
    stopBeating() {
      for (const stream of streams) stream.stopBeating();
    },
    async stop() {
      for (const stream of streams) stream.end();
      await server.close(200);
    },
  };
}

type SchedulingHandlers = AsyncHandlers<MaterialServiceHandlers> &
  AsyncHandlers<ReviewServiceHandlers> &
  AsyncHandlers<SnoozeServiceHandlers>;

/** Every rpc does `work` and then fails, or answers what that has returned, by default an empty message. */
export async function startStubScheduling(work: (rpc: string, context: CallContext) => Promise<unknown>) {
  const proto = loadProto('scheduling.v1');
  const [materials, reviews, snoozes] = [
    serviceDefinition<MaterialServiceDefinition>(proto, 'scheduling.v1.MaterialService'),
    serviceDefinition<ReviewServiceDefinition>(proto, 'scheduling.v1.ReviewService'),
    serviceDefinition<SnoozeServiceDefinition>(proto, 'scheduling.v1.SnoozeService'),
  ];
  const handlersOf = (definition: object) =>
    Object.fromEntries(
      Object.keys(definition).map((rpc) => [
        rpc,
        async (_request: unknown, context: CallContext) => (await work(rpc, context)) ?? {},
      ]),
    ) as unknown as SchedulingHandlers;
  const server = await startGrpcServer({
    ...base,
    domain: 'scheduling.v1',
    services: [
      implement<MaterialServiceHandlers>('MaterialService', handlersOf(materials)),
      implement<ReviewServiceHandlers>('ReviewService', handlersOf(reviews)),
      implement<SnoozeServiceHandlers>('SnoozeService', handlersOf(snoozes)),
    ],
  });
  return { target: `127.0.0.1:${server.port}`, port: server.port, stop: () => server.close(200) };
}

let made = 0;
/** A text in a key's form; the stub asks for no checksum. */
export function newStubKey(): string {
  made += 1;
  return `rmk_live_${`${made}`.padStart(49, '0')}`;
}

function withDefaults<H>(definition: object, handlers: Partial<AsyncHandlers<H>>): AsyncHandlers<H> {
  const missing = async () => {
    throw new Error('the stub does not answer this');
  };
  return {
    ...Object.fromEntries(Object.keys(definition).map((rpc) => [rpc, missing])),
    ...handlers,
  } as AsyncHandlers<H>;
}
