// Adapts async functions to grpc-js handlers, with error encoding, metrics, traces and logs.
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type Metadata,
  type ServiceDefinition,
  type StatusObject,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ServiceError, toServiceError } from '../errors.ts';
import type { Logger } from '../logging/logger.ts';
import { observeServedCall } from '../observability/observe.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { type CallContext, ServedCall } from './call-context.ts';
import { toGrpcStatus } from './status.ts';

type Named<T> = { [K in keyof T as string extends K ? never : number extends K ? never : K]: T[K] };

/** A generated XxxHandlers interface as async functions; a streaming one gets `send`, which resolves when it can send more. */
export type AsyncHandlers<H> = {
  [M in keyof Named<H>]: Named<H>[M] extends handleUnaryCall<infer Q, infer R>
    ? (request: Q, context: CallContext) => Promise<R>
    : Named<H>[M] extends handleServerStreamingCall<infer Q, infer R>
      ? (request: Q, context: CallContext, send: (message: R) => Promise<void>) => Promise<void>
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
};

/** The implementation that grpc-js serves. @throws Error if an rpc has no handler. */
export function wrapHandlers(
  definition: ServiceDefinition,
  { handlers }: ServiceImplementation,
  options: HandlerOptions,
): UntypedServiceImplementation {
  const wrapped: UntypedServiceImplementation = {};
  for (const [name, method] of Object.entries(definition)) {
    const handler = handlers[name];
    if (handler === undefined) throw new Error(`no handler for ${method.path}`);
    const run: HandlerRun = { path: method.path, handler, options };
    wrapped[name] = method.responseStream ? wrapStream(run) : wrapUnary(run);
  }
  return wrapped;
}

type HandlerRun = { path: string; handler: UnknownHandler; options: HandlerOptions };

function wrapUnary(run: HandlerRun): handleUnaryCall<unknown, unknown> {
  return (call, callback) => {
    void execute(run, call, new ServedCall(call), async () => {}).then(({ response, refusal = null }) =>
      callback(refusal, response),
    );
  };
}

function wrapStream(run: HandlerRun): handleServerStreamingCall<unknown, unknown> {
  return (call) => {
    const context = new ServedCall(call);
    // Backpressure: waits until the client has read before it takes the next message.
    const send = async (message: unknown) => {
      if (context.signal.aborted) return;
      const taken = Promise.withResolvers<void>();
      const end = () => taken.resolve();
      context.signal.addEventListener('abort', end, { once: true });
      call.write(message, end);
      await taken.promise;
      context.signal.removeEventListener('abort', end);
    };
    void execute(run, call, context, send).then(({ refusal }) => {
      if (refusal === undefined) call.end();
      else call.emit('error', refusal);
    });
  };
}

/** Runs the handler with its metrics, trace and log; resolves to its response, or to the status that refuses the call. */
async function execute(
  { path, handler, options }: HandlerRun,
  { metadata, request }: { metadata: Metadata; request: unknown },
  context: CallContext,
  send: (message: unknown) => Promise<void>,
): Promise<{ response?: unknown; refusal?: StatusObject }> {
  const { logger, telemetry } = options;
  const observed = observeServedCall(
    { metrics: telemetry?.metrics, logger },
    { path, metadata, request, context },
  );
  try {
    const response = await observed.run(async () => {
      // So arrives what the deserializer refused (strict-requests.ts).
      if (request instanceof ServiceError) throw request;
      return handler(request, context, send);
    });
    observed.end(status.OK);
    return { response };
  } catch (error) {
    const { refusal, known } = failure(error, path, context, options);
    observed.end(refusal.code, known);
    return { refusal };
  }
}

/**
 * Logs an internal error once with its stack; the caller gets a fixed text. An UNAVAILABLE without a cause, such as the end of a
 * stream at shutdown, is not a fault: the line of the call has it.
 */
function failure(error: unknown, path: string, context: CallContext, { logger, domain }: HandlerOptions) {
  const known = toServiceError(error);
  if (known.reason === 'INTERNAL_ERROR') {
    logger.error({ err: known.cause ?? known, rpc: path, requestId: context.requestId }, 'call failed');
  } else if (known.reason === 'UNAVAILABLE' && known.cause !== undefined) {
    logger.warn({ err: known.cause, rpc: path, requestId: context.requestId }, 'call failed: unavailable');
  }
  return { refusal: toGrpcStatus(known, domain), known };
}
