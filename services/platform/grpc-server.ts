// The one gRPC server of a service: handlers as async functions, health, reflection, the service token, a clean end.
import { createHash, timingSafeEqual } from 'node:crypto';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { PackageDefinition } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { HealthImplementation } from 'grpc-health-check';
import type { GrpcTrust } from './common-config.ts';
import { ServiceError, toServiceError } from './errors.ts';
import { watchConnections } from './grpc-shutdown.ts';
import { toGrpcStatus } from './grpc-status.ts';
import type { Logger } from './logger.ts';
import { observeServedCall } from './ops/observe-rpc.ts';
import { NO_TELEMETRY, type Telemetry } from './ops/telemetry.ts';
import { loggable } from './request-id.ts';
import { readTraceparent } from './trace-context.ts';
import { boundUntaken, type UntakenBounds } from './untaken-answers.ts';

/** What a handler may know of the call beside its request. */
export type CallContext = {
  requestId: string;
  /** The W3C trace that the call belongs to, if any. */
  traceparent: string | undefined;
  /** The calling program as it names itself. */
  caller: string;
  /** Aborted when the caller has gone: hung up or past its deadline. */
  signal: AbortSignal;
};

type Named<T> = { [K in keyof T as string extends K ? never : number extends K ? never : K]: T[K] };

/** A generated XxxHandlers interface as async functions; a streaming one gets `send`, which resolves when it is taken. */
export type AsyncHandlers<H> = {
  [M in keyof Named<H>]: Named<H>[M] extends handleUnaryCall<infer Q, infer R>
    ? (request: Q, context: CallContext) => Promise<R>
    : Named<H>[M] extends handleServerStreamingCall<infer Q, infer R>
      ? (request: Q, context: CallContext, send: (message: R) => Promise<void>) => Promise<void>
      : never;
};

/** Pairs a service with its handlers; made by `implement`, which checks that they belong together. */
export type ServiceImplementation = {
  definition: ServiceDefinition;
  handlers: Record<string, UnknownHandler>;
};
type UnknownHandler = (
  request: unknown,
  context: CallContext,
  send: (message: unknown) => Promise<void>,
) => Promise<unknown>;

/** H is the generated XxxHandlers interface of the service that `definition` defines. */
export function implement<H>(
  definition: ServiceDefinition,
  handlers: AsyncHandlers<H>,
): ServiceImplementation {
  // The mapped type has checked every handler against its rpc; from here on they are called by name.
  return { definition, handlers: handlers as Record<string, UnknownHandler> };
}

export type GrpcServerOptions = {
  proto: PackageDefinition;
  /** The proto package, which is the domain of errors. */
  domain: string;
  services: readonly ServiceImplementation[];
  host: string;
  /** 0: any free one. */
  port: number;
  /** How long a connection lasts before its client has to look the name up and dial again; default 300,000. */
  maxConnectionAgeMs?: number;
  trust: GrpcTrust;
  logger: Logger;
  telemetry?: Telemetry;
} & UntakenBounds;

export type GrpcServer = {
  port: number;
  /** Stops taking calls, lets running ones end, and after `timeoutMs` cuts them off. */
  close(timeoutMs: number): Promise<void>;
};

/**
 * Starts listening. Health (grpc.health.v1) answers without a token; all else needs one where tokens are set.
 * @throws Error where the port is taken, with the address in its text.
 */
export async function startGrpcServer(
  options: GrpcServerOptions,
): Promise<GrpcServer & { setServing(isServing: boolean): void }> {
  const untaken = boundUntaken(options, {
    logger: options.logger,
    refusal: toGrpcStatus(new ServiceError('UNAVAILABLE'), options.domain),
  });
  const server = new Server({
    interceptors: [
      untaken.interceptor,
      ...(options.trust.serviceTokens.length > 0 ? [requireToken(options)] : []),
    ],
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.max_connection_age_ms': options.maxConnectionAgeMs ?? 300_000,
    'grpc.max_connection_age_grace_ms': 30_000,
    'grpc-node.flow_control_window': 4 * 1024 * 1024,
    // A facade has at most 128 requests at work; a client holds back what is more.
    'grpc.max_concurrent_streams': 512,
  });
  for (const service of options.services) {
    server.addService(service.definition, wrapHandlers(service, options));
  }
  const health = new HealthImplementation({ '': 'SERVING' });
  health.addToServer(server);
  new ReflectionService(options.proto).addToServer(server);
  const port = await bind(server, options);
  const closeServer = watchConnections(server);
  return {
    port,
    /** What the health service answers until the end begins. */
    setServing: (isServing) => health.setStatus('', isServing ? 'SERVING' : 'NOT_SERVING'),
    async close(timeoutMs) {
      health.setStatus('', 'NOT_SERVING');
      await closeServer(timeoutMs);
      untaken.close();
    },
  };
}

function bind(server: Server, { host, port, trust }: GrpcServerOptions): Promise<number> {
  const credentials =
    trust.tls === undefined
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(
          trust.tls.authority,
          [{ cert_chain: trust.tls.certificate, private_key: trust.tls.key }],
          true,
        );
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, boundPort) => {
      if (error === null) resolve(boundPort);
      else reject(new Error(`cannot listen on ${address}: ${error.message}`));
    });
  });
}

function wrapHandlers(
  service: ServiceImplementation,
  options: GrpcServerOptions,
): UntypedServiceImplementation {
  const wrapped: UntypedServiceImplementation = {};
  for (const [name, method] of Object.entries(service.definition)) {
    const handler = service.handlers[name];
    if (handler === undefined) throw new Error(`no handler for ${method.path}`);
    const run: HandlerRun = { path: method.path, handler: refusing(handler), options };
    wrapped[name] = method.responseStream ? wrapStream(run) : wrapUnary(run);
  }
  return wrapped;
}

/**
 * A request that was refused while it was read comes as the reason: see strict-requests.ts. What a handler throws before
 * its first await rejects as well.
 */
function refusing(handler: UnknownHandler): UnknownHandler {
  return async (request, context, send) => {
    if (request instanceof ServiceError) throw request;
    return handler(request, context, send);
  };
}

type HandlerRun = { path: string; handler: UnknownHandler; options: GrpcServerOptions };

function wrapUnary({ path, handler, options }: HandlerRun): handleUnaryCall<unknown, unknown> {
  return (call, callback) => {
    const context = new ServedCall(call);
    const observed = observe(call, path, context, options);
    observed
      .run(() => handler(call.request, context, async () => {}))
      .then(
        (response) => {
          observed.end(status.OK);
          callback(null, response);
        },
        (error: unknown) => {
          const refusal = failure(error, path, context, options);
          observed.end(refusal.code);
          callback(refusal);
        },
      );
  };
}

function wrapStream({ path, handler, options }: HandlerRun): handleServerStreamingCall<unknown, unknown> {
  return (call) => {
    const context = new ServedCall(call);
    // One message at a time: what a client does not take is not gathered here.
    const send = async (message: unknown) => {
      if (context.signal.aborted) return;
      const taken = Promise.withResolvers<void>();
      const end = () => taken.resolve();
      context.signal.addEventListener('abort', end, { once: true });
      call.write(message, end);
      await taken.promise;
      context.signal.removeEventListener('abort', end);
    };
    const observed = observe(call, path, context, options);
    observed
      .run(() => handler(call.request, context, send))
      .then(
        () => {
          observed.end(status.OK);
          call.end();
        },
        (error: unknown) => {
          const refusal = failure(error, path, context, options);
          observed.end(refusal.code);
          call.emit('error', refusal);
        },
      );
  };
}

/** One for all: an Error of its own for each call that ends would cost more than the rest of its context. */
const GONE = new ServiceError('UNAVAILABLE');

function observe(
  { metadata, request }: { metadata: Metadata; request: unknown },
  path: string,
  context: CallContext,
  { logger, telemetry = NO_TELEMETRY }: GrpcServerOptions,
) {
  return observeServedCall({ ...telemetry, logger }, { path, metadata, request, context });
}

type AnyCall = ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>;

/** A class, since a getter in an object's literal would keep the call until the next full garbage collection. */
class ServedCall implements CallContext {
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly caller: string;
  readonly #call: AnyCall;
  /** Made only for those who look: most handlers end before anyone could go. */
  #gone: AbortController | undefined;

  constructor(call: AnyCall) {
    this.#call = call;
    this.requestId = loggable(firstText(call.metadata, 'x-request-id')) ?? crypto.randomUUID();
    this.traceparent = readTraceparent(firstText(call.metadata, 'traceparent'));
    this.caller = loggable(firstText(call.metadata, 'x-caller')) ?? 'unknown';
    call.on('cancelled', () => this.#gone?.abort(GONE));
  }

  get signal(): AbortSignal {
    if (this.#gone === undefined) {
      this.#gone = new AbortController();
      if (this.#call.cancelled) this.#gone.abort(GONE);
    }
    return this.#gone.signal;
  }
}

function firstText(metadata: Metadata, key: string): string | undefined {
  const value = metadata.get(key)[0];
  return typeof value === 'string' && value.length > 0 ? value.slice(0, 200) : undefined;
}

/** A fault of ours is logged here, once and whole, and its caller told only that it happened. */
function failure(error: unknown, path: string, context: CallContext, { logger, domain }: GrpcServerOptions) {
  const known = toServiceError(error);
  if (known.reason === 'INTERNAL_ERROR') {
    logger.error({ err: known.cause ?? known, rpc: path, requestId: context.requestId }, 'call failed');
  } else if (known.reason === 'UNAVAILABLE') {
    logger.warn({ err: known.cause, rpc: path, requestId: context.requestId }, 'call not answered');
  }
  return toGrpcStatus(known, domain);
}

function requireToken({ trust, domain }: GrpcServerOptions): ServerInterceptor {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const accepted = trust.serviceTokens.map((token) => digest(`Bearer ${token}`));
  const refusal = toGrpcStatus(
    new ServiceError('UNAUTHORIZED', { message: 'A service token is required.' }),
    domain,
  );
  return (method, call) =>
    new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, forward) => {
            const sent = digest(firstText(metadata, 'authorization') ?? '');
            const known = accepted.filter((token) => timingSafeEqual(token, sent)).length > 0;
            if (known || method.path.startsWith('/grpc.health.v1.Health/')) forward(metadata);
            else call.sendStatus(refusal);
          },
        }),
    });
}
