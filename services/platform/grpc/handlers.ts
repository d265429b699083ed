// Serves rpcs with async functions: call context, error encoding, metrics, traces and logs. The same handlers serve grpc-js and, without
// a network, clients in this process; callers, handlers and logs see no difference.
import type { EventEmitter } from 'node:events';
import {
  type ServiceError as GrpcError,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type StatusObject,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ServiceError, toServiceError } from '../errors.ts';
import type { Logger } from '../logging/logger.ts';
import { observeServedCall } from '../observability/observe.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { readTraceparent } from '../observability/tracing.ts';
import { OBJECTS, responseTypeOf } from '../protobuf/load.ts';
import { loggable } from '../redaction.ts';
import { readUuid } from '../uuid.ts';
import { toGrpcStatus } from './status.ts';

/** What a handler gets about a call in addition to the request. */
export type CallContext = {
  /** At most 128 characters. */
  requestId: string;
  /** The W3C trace that the call belongs to, if any. */
  traceparent: string | undefined;
  /** The calling program's name as it states it, at most 200 characters; not authenticated. */
  caller: string;
  /** The ID of the key that the caller's own request came with, if any. */
  apiKeyId?: string | undefined;
  /** Aborted when the caller disconnects or its deadline passes, and when the call has ended. */
  signal: AbortSignal;
};

type Named<T> = { [K in keyof T as string extends K ? never : number extends K ? never : K]: T[K] };

/**
 * A generated XxxHandlers interface as async functions. A handler that streams responses gets `send`, which resolves when the next
 * message can be sent. A handler that takes a stream reads it message by message, with backpressure to the client.
 */
export type AsyncHandlers<H> = {
  [M in keyof Named<H>]: Named<H>[M] extends handleUnaryCall<infer Q, infer R>
    ? (request: Q, context: CallContext) => Promise<R>
    : Named<H>[M] extends handleServerStreamingCall<infer Q, infer R>
      ? (request: Q, context: CallContext, send: (message: R) => Promise<void>) => Promise<void>
      : Named<H>[M] extends handleClientStreamingCall<infer Q, infer R>
        ? (requests: AsyncIterable<Q>, context: CallContext) => Promise<R>
        : never;
};

/** A service with its handlers. Create it with `implement`, which checks that they match. */
export type ServiceImplementation = {
  /** Its name within the server's proto package, such as "UserService". */
  service: string;
  handlers: Record<string, UnknownHandler>;
};
type UnknownHandler = (
  request: unknown,
  context: CallContext,
  send: (message: unknown) => Promise<void>,
) => Promise<unknown>;

/** H is the generated XxxHandlers interface of the service. */
export function implement<H>(service: string, handlers: AsyncHandlers<H>): ServiceImplementation {
  // The mapped type has checked each handler against its rpc; from here on they are looked up by name.
  return { service, handlers: handlers as Record<string, UnknownHandler> };
}

type HandlerOptions = {
  /** The proto package, used as the error domain. */
  domain: string;
  logger: Logger;
  telemetry?: Telemetry;
  /** The calls in progress, including those whose caller has disconnected. */
  running: Set<Promise<unknown>>;
};

/** Serves a call of one rpc; resolves to its response, or to the status that refuses it. Never rejects. */
type ServeCall = (
  request: unknown,
  context: ServedCall,
  send?: (message: unknown) => Promise<void>,
) => Promise<{ response?: unknown; refusal?: StatusObject }>;

type ServedRpc = { name: string; method: ServiceDefinition[string]; serveCall: ServeCall };

/** The rpcs of a service with their handlers, which run with metrics, trace and log. @throws Error if one has none. */
export function serveCalls(
  definition: ServiceDefinition,
  { handlers }: ServiceImplementation,
  { domain, logger, telemetry, running }: HandlerOptions,
): ServedRpc[] {
  return Object.entries(definition).map(([name, method]) => {
    const { path } = method;
    const handler = handlers[name];
    if (handler === undefined) throw new Error(`no handler for ${path}`);
    const serve: ServeCall = async (request, context, send = async () => {}) => {
      const observed = observeServedCall(
        { metrics: telemetry?.metrics, logger },
        { path, metadata: context.metadata, request, context },
      );
      try {
        const response = await observed.run(async () => handler(request, context, send));
        observed.end(status.OK);
        return { response };
      } catch (error) {
        const known = toServiceError(error);
        logFailure(logger, known, { rpc: path, requestId: context.requestId });
        const refusal = toGrpcStatus(known, domain);
        observed.end(refusal.code, known);
        return { refusal };
      }
    };
    const serveCall: ServeCall = (...call) => {
      const served = serve(...call);
      running.add(served);
      void served.then(() => running.delete(served));
      return served;
    };
    return { name, method, serveCall };
  });
}

/**
 * Logs an internal error once with its stack; the caller gets a fixed text. An UNAVAILABLE without a cause, such as the end of a
 * stream at shutdown, is not a fault: only the log line of the call mentions it.
 */
function logFailure(logger: Logger, known: ServiceError, call: { rpc: string; requestId: string }): void {
  const { reason, cause } = known;
  if (reason === 'INTERNAL_ERROR') logger.error({ err: cause ?? known, ...call }, 'call failed');
  else if (reason === 'UNAVAILABLE' && cause !== undefined)
    logger.warn({ err: cause, ...call }, 'call failed: unavailable');
}

/** Adapts rpcs to the handler signatures of grpc-js. */
export function wrapForGrpc(rpcs: readonly ServedRpc[]): UntypedServiceImplementation {
  return Object.fromEntries(
    rpcs.map(({ name, method, serveCall }) => [
      name,
      method.responseStream ? wrapStream(serveCall) : wrapSingle(serveCall),
    ]),
  );
}

/** For one response: the request is a message or a stream of them. */
function wrapSingle(serveCall: ServeCall) {
  return (
    call: ServerUnaryCall<unknown, unknown> | ServerReadableStream<unknown, unknown>,
    callback: sendUnaryData<unknown>,
  ) => {
    void serveCall('request' in call ? call.request : call, contextOf(call)).then(
      ({ response, refusal = null }) => callback(refusal, response),
    );
  };
}

function wrapStream(serveCall: ServeCall): handleServerStreamingCall<unknown, unknown> {
  return (call) => {
    const context = contextOf(call);
    // Backpressure: resolves once the transport has accepted the message, or the call has ended.
    const send = async (message: unknown) => {
      if (context.signal.aborted) return;
      const taken = Promise.withResolvers<void>();
      const end = () => taken.resolve();
      context.signal.addEventListener('abort', end, { once: true });
      call.write(message, end);
      await taken.promise;
      context.signal.removeEventListener('abort', end);
    };
    void serveCall(call.request, context, send).then(({ refusal }) => {
      if (refusal === undefined) call.end();
      else call.emit('error', refusal);
    });
  };
}

type ServerCall =
  | ServerUnaryCall<unknown, unknown>
  | ServerReadableStream<unknown, unknown>
  | ServerWritableStream<unknown, unknown>;

function contextOf(call: Pick<ServerCall, 'metadata' | 'cancelled'> & EventEmitter) {
  const context = new ServedCall(call.metadata);
  if (call.cancelled) context.end();
  call.on('cancelled', () => context.end());
  return context;
}

/** In characters; what is longer is cut. */
const MAX_REQUEST_ID = 128;
const MAX_CALLER = 200;

/** A shared abort reason: an Error per call would cost more than the rest of its context. */
const ENDED = new ServiceError('UNAVAILABLE');
/** A class, since a getter in an object literal would retain the call until the next full garbage collection. */
class ServedCall implements CallContext {
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly caller: string;
  readonly apiKeyId: string | undefined;
  readonly metadata: Metadata;
  #hasEnded = false;
  /** Created on demand: most handlers never read the signal. */
  #controller: AbortController | undefined;

  constructor(metadata: Metadata) {
    const read = (key: string, maxCharacters?: number) => {
      const [value] = metadata.get(key);
      return typeof value === 'string' ? value.slice(0, maxCharacters) : undefined;
    };
    this.metadata = metadata;
    this.requestId = loggable(read('x-request-id', MAX_REQUEST_ID)) ?? crypto.randomUUID();
    this.traceparent = readTraceparent(read('traceparent'));
    this.caller = loggable(read('x-caller', MAX_CALLER)) ?? 'unknown';
    this.apiKeyId = readUuid(read('x-api-key-id') ?? '');
  }

  end(): void {
    this.#hasEnded = true;
    this.#controller?.abort(ENDED);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#hasEnded) this.#controller.abort(ENDED);
    }
    return this.#controller.signal;
  }
}

type LocalCall = {
  metadata: Metadata;
  deadlineMs: number;
  /** A larger response fails the call. undefined: none is refused. */
  maxMessageBytes: number | undefined;
  /** Called with the size of the response in bytes; an Error that it returns replaces the response. */
  refuse: ((bytes: number) => Error | undefined) | undefined;
};

export type LocalServer = {
  /**
   * Calls a unary rpc by its path, "/package.Service/Rpc". The two sides share no object: a request is serialized and parsed; a
   * response, whose texts can be long, is copied and its defaults are filled in.
   * @throws GrpcError as grpc-js would.
   */
  call(path: string, request: unknown, call: LocalCall): Promise<unknown>;
};

/** `rpcs`: the unary ones. */
export function createLocalServer(
  rpcs: readonly ServedRpc[],
  { maxRequestBytes }: { maxRequestBytes: number },
): LocalServer & {
  /** From now on, calls fail. */
  refuse(): void;
  /** Fails the calls under way. */
  cut(): void;
} {
  const byPath = new Map(
    rpcs.map((rpc) => [rpc.method.path, { ...rpc, copyResponse: responseCopier(rpc.method.path) }]),
  );
  const running = new Set<(error: GrpcError) => void>();
  let isOpen = true;
  return {
    async call(path, request, { metadata, deadlineMs, maxMessageBytes, refuse }) {
      if (!isOpen) throw grpcError(status.UNAVAILABLE, 'The server is shutting down');
      const rpc = byPath.get(path);
      if (rpc === undefined) throw grpcError(status.UNIMPLEMENTED, `The server does not have ${path}`);
      const bytes = tryTo('serialize the request', () => rpc.method.requestSerialize(request));
      refuseLarger(bytes.length, maxRequestBytes);
      const late = `Deadline exceeded after ${deadlineMs} ms`;
      if (deadlineMs <= 0) throw grpcError(status.DEADLINE_EXCEEDED, late);

      const context = new ServedCall(metadata);
      const { promise: failed, reject: fail } = Promise.withResolvers<never>();
      const timer = setTimeout(() => fail(grpcError(status.DEADLINE_EXCEEDED, late)), deadlineMs);
      running.add(fail);
      try {
        const served = rpc.serveCall(rpc.method.requestDeserialize(bytes), context);
        const { response, refusal } = await Promise.race([served, failed]);
        if (refusal !== undefined) throw toGrpcError(refusal);
        const { copy, size } = tryTo('serialize the response', () => rpc.copyResponse(response));
        if (maxMessageBytes === undefined && refuse === undefined) return copy;
        const responseBytes = size();
        if (maxMessageBytes !== undefined) refuseLarger(responseBytes, maxMessageBytes);
        return refuse?.(responseBytes) ?? copy;
      } finally {
        running.delete(fail);
        clearTimeout(timer);
        context.end();
      }
    },

    refuse() {
      isOpen = false;
    },

    cut() {
      for (const fail of running) fail(grpcError(status.UNAVAILABLE, 'The server has stopped'));
    },
  };
}

/**
 * Returns a function that turns a response of rpc `path` into what a remote client would get, without serializing it: a copy with
 * all defaults, and its serialized size in bytes.
 * @throws Error like the serializer of the message.
 */
function responseCopier(path: string): (message: unknown) => { copy: object; size: () => number } {
  const type = responseTypeOf(path);
  return (message) => {
    // As the serializers of proto-loader do; the codec itself checks the rest.
    if (Array.isArray(message)) throw new Error(`a response must be an object of ${type.name}`);
    const checked = type.fromObject(message as object);
    return { copy: type.toObject(checked, OBJECTS), size: () => type.encode(checked).len };
  };
}

function tryTo<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw grpcError(status.INTERNAL, `cannot ${what}: ${error}`);
  }
}

/** The words by which `isMessageTooLarge` knows it. */
function refuseLarger(bytes: number, max: number): void {
  if (bytes <= max) return;
  throw grpcError(status.RESOURCE_EXHAUSTED, `Received message larger than max (${bytes} vs ${max})`);
}

function grpcError(code: status, details: string): GrpcError {
  return toGrpcError({ code, details, metadata: new Metadata() });
}

function toGrpcError(refusal: StatusObject): GrpcError {
  const { code, details } = refusal;
  return Object.assign(new Error(`${code} ${status[code]}: ${details}`), refusal);
}
