// The one way to call another service: promises, a deadline on every call, the request id passed on, errors decoded.
import {
  Client,
  type ClientOptions,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';
import type { GrpcTrust } from './common-config.ts';
import { toError } from './errors.ts';
import { fromGrpcError } from './grpc-status.ts';
import { observeSentCall } from './ops/observe-rpc.ts';
import { NO_TELEMETRY, type Telemetry } from './ops/telemetry.ts';

/** Above the largest legal answer: 100 materials of 256 KiB of content and as much of source URL. */
const DEFAULT_MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

const CHANNEL_OPTIONS: ClientOptions = {
  // A service that restarts is dialled again soon: one of two may end a second after the other is back.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 300,
  // A name is looked up again whenever a connection ends; the library's own pause of 30 s is long beside a replica's fall.
  'grpc.dns_min_time_between_resolutions_ms': 5_000,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 2_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc-node.flow_control_window': 4 * 1024 * 1024,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
};

export type CallOptions = {
  requestId: string;
  /** The caller's W3C trace, if there is one. */
  traceparent?: string | undefined;
  /** Default: the client's. */
  deadlineMs?: number;
  /** On whose behalf, for the other side's audit; default: the client's name. */
  caller?: string;
  /** Is told the size of the answer before it is decoded. What it throws is what the call fails with. */
  receive?: ((bytes: number) => void) | undefined;
};

type MethodNames<D> = keyof {
  [K in keyof D as string extends K ? never : number extends K ? never : K]: true;
} &
  string;
type InputOf<M> = M extends MethodDefinition<infer Q, infer _R, infer _Q, infer _O> ? Q : never;
type OutputOf<M> = M extends MethodDefinition<infer _Q, infer _R, infer _I, infer O> ? O : never;

/** The rpcs of definition D as functions with a small first letter; those named in Streams answer with a stream. */
export type GrpcClient<D, Streams extends MethodNames<D> = never> = {
  [M in Exclude<MethodNames<D>, Streams> as Uncapitalize<M>]: (
    request: InputOf<D[M]>,
    options: CallOptions,
  ) => Promise<OutputOf<D[M]>>;
} & {
  [M in Streams as Uncapitalize<M>]: (
    request: InputOf<D[M]>,
    options: CallOptions,
  ) => ClientReadableStream<OutputOf<D[M]>>;
} & { close(): void };

export type GrpcClientOptions = {
  /** host:port, or ipv4:host:port,host:port; a host name is resolved to all its addresses. Several take turns. */
  target: string;
  trust: GrpcTrust;
  /** This program's name, for the other side's audit. */
  caller: string;
  deadlineMs: number;
  /** A larger answer is refused when its head arrives, before it is read: `isMessageTooLarge`. Default: 64 MiB. */
  maxMessageBytes?: number;
  telemetry?: Telemetry;
};

/** Errors of unary calls arrive as ServiceError; those of a stream as its raw 'error' event. A stream has no deadline. */
export function createGrpcClient<D extends ServiceDefinition, Streams extends MethodNames<D> = never>(
  definition: D,
  options: GrpcClientOptions,
): GrpcClient<D, Streams> {
  const { tls } = options.trust;
  const channelCredentials =
    tls === undefined
      ? credentials.createInsecure()
      : credentials.createSsl(tls.authority, tls.key, tls.certificate);
  const { maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES } = options;
  const client = new Client(resolvable(options.target), channelCredentials, {
    ...CHANNEL_OPTIONS,
    'grpc.max_receive_message_length': maxMessageBytes,
  });
  const methods: Record<string, unknown> = { close: () => client.close() };
  for (const [name, method] of Object.entries(definition)) {
    const camelName = name.charAt(0).toLowerCase() + name.slice(1);
    const { path, requestSerialize, responseDeserialize } = method;
    methods[camelName] = method.responseStream
      ? (request: unknown, call: CallOptions) =>
          client.makeServerStreamRequest(
            path,
            requestSerialize,
            responseDeserialize,
            request,
            metadataOf(call, options),
          )
      : (request: unknown, call: CallOptions) =>
          new Promise((resolve, reject) => {
            const waiting: Waiting = { callbacks: { resolve, reject } };
            const deadline = Date.now() + (call.deadlineMs ?? options.deadlineMs);
            const { caller, telemetry = NO_TELEMETRY } = options;
            const observed = observeSentCall(telemetry, { path, caller });
            client.makeUnaryRequest(
              path,
              requestSerialize,
              (bytes): object => {
                const refusal = refusalOf(call, bytes);
                // What this throws reaches the caller by the library.
                const response = refusal === undefined ? responseDeserialize(bytes) : undefined;
                const callbacks = letGo(waiting);
                if (refusal === undefined) callbacks?.resolve(response);
                else callbacks?.reject(refusal);
                return ANSWERED;
              },
              request,
              observed.run(() => metadataOf(call, options)),
              { deadline },
              (error) => {
                observed.end(error?.code ?? 0);
                if (error) letGo(waiting)?.reject(fromGrpcError(error));
              },
            );
          });
  }
  // Built from the definition by name, which is what the mapped type says of it.
  return methods as GrpcClient<D, Streams>;
}

/** What `receive` throws at an answer of this size. */
function refusalOf({ receive }: CallOptions, { length }: Buffer): Error | undefined {
  try {
    receive?.(length);
    return undefined;
  } catch (error) {
    return toError(error);
  }
}

/**
 * What the library is given in place of a response, which has gone to its caller when its bytes came: Node sends the trailers
 * by themselves, a turn of both event loops later, and our services never send a message and then fail.
 */
const ANSWERED = {};

/**
 * What waits for a response, held by nothing else, so that it can be let go. What Node keeps of an HTTP/2 stream lives until the
 * next full garbage collection (its WritableState holds a function that V8 puts among the old objects), and with the stream the
 * call, its callback, and whatever that leads to.
 */
type Waiting = { callbacks: PromiseCallbacks | undefined };
type PromiseCallbacks = { resolve: (value: unknown) => void; reject: (reason: unknown) => void };

function letGo(waiting: Waiting): PromiseCallbacks | undefined {
  const { callbacks } = waiting;
  waiting.callbacks = undefined;
  return callbacks;
}

function metadataOf(call: CallOptions, { caller, trust, telemetry }: GrpcClientOptions): Metadata {
  const metadata = new Metadata();
  metadata.set('x-request-id', call.requestId);
  metadata.set('x-caller', call.caller ?? caller);
  if (call.traceparent !== undefined) metadata.set('traceparent', call.traceparent);
  for (const [name, value] of Object.entries(telemetry?.tracing.outgoing() ?? {})) metadata.set(name, value);
  const token = trust.serviceTokens[0];
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  return metadata;
}

/** Names go through DNS, so that every replica behind one is found; addresses and explicit schemes stay as they are. */
function resolvable(target: string): string {
  return /^(\d|\[|[a-z]+:\/|unix:|ipv4:|ipv6:)/.test(target) ? target : `dns:///${target}`;
}
