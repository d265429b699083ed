// The client of all gRPC calls between services: promises, a deadline per unary call, the request ID, decoded errors.
import {
  Client,
  type ClientOptions,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceDefinition,
  type StatusObject,
} from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';
import { observeSentCall } from '../observability/observe.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { outgoingTraceHeaders } from '../observability/tracing.ts';
import type { GrpcTrust } from '../process/common-config.ts';
import { loadProto, serviceDefinition } from '../protobuf/load.ts';
import { toError } from '../thrown.ts';
import { serviceConfigOf } from './read-retries.ts';
import { polledTarget } from './replicas-resolver.ts';
import type { TokenWatch } from './service-token.ts';
import { fromGrpcError, isTokenRefusal } from './status.ts';

/** Above the largest legal response: 100 materials with 256 KiB of content and 256 KiB of source URL each. */
const DEFAULT_MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

const CHANNEL_OPTIONS: ClientOptions = {
  // Short backoff: in a rolling restart, one replica can stop a second after the other is back.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 300,
  // At least this long between two resolutions of a name; the default is 30 s.
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
  // No TXT record for each resolution.
  'grpc.service_config_disable_resolution': 1,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 2_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc-node.flow_control_window': 4 * 1024 * 1024,
};

export type CallOptions = {
  requestId: string;
  /** The caller's W3C trace, if there is one. */
  traceparent?: string | undefined;
  /** Default: the client's. */
  deadlineMs?: number;
  /** The caller in the server's audit log; default: the client's name. */
  caller?: string;
  /** Called with the size of the response before it is decoded. The call fails with what it throws. */
  receive?: ((bytes: number) => void) | undefined;
};

type MethodNames<D> = keyof {
  [K in keyof D as string extends K ? never : number extends K ? never : K]: true;
} &
  string;
type InputOf<M> = M extends MethodDefinition<infer Q, infer _R, infer _Q, infer _O> ? Q : never;
type OutputOf<M> = M extends MethodDefinition<infer _Q, infer _R, infer _I, infer O> ? O : never;

/** The rpcs of definition D as functions in camelCase; those named in Streams return a stream. */
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

type GrpcClientOptions = {
  /** host:port, or ipv4:host:port,host:port. A host name resolves to all its addresses; calls go round-robin. */
  target: string;
  trust: GrpcTrust;
  /** This program's name, for the server's audit log. */
  caller: string;
  deadlineMs: number;
  /** A larger response is refused before it is read; see `isMessageTooLarge`. Default: 64 MiB. */
  maxMessageBytes?: number;
  telemetry?: Telemetry;
  /** Notified if the service rejects our token. */
  tokenWatch?: TokenWatch;
};

/** A function that makes the client of a service by its name in `packageName`, such as "accounts.v1"; D is its definition. */
export function clientsOf(packageName: string, options: GrpcClientOptions) {
  const proto = loadProto(packageName);
  return <D extends ServiceDefinition, Streams extends MethodNames<D> = never>(service: string) =>
    createGrpcClient<D, Streams>(serviceDefinition<D>(proto, `${packageName}.${service}`), options);
}

/** Unary calls reject with ServiceError; a read whose replica dies is sent to another one first; a stream emits grpc-js's own 'error' event. A stream has no deadline. */
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
  const client = new Client(polledTarget(options.target), channelCredentials, {
    ...CHANNEL_OPTIONS,
    'grpc.service_config': serviceConfigOf(definition),
    'grpc.max_receive_message_length': maxMessageBytes,
  });
  const methods: Record<string, unknown> = { close: () => client.close() };
  for (const [name, method] of Object.entries(definition)) {
    const camelName = name.charAt(0).toLowerCase() + name.slice(1);
    const { path, requestSerialize, responseDeserialize } = method;
    methods[camelName] = method.responseStream
      ? (request: unknown, call: CallOptions) =>
          client
            .makeServerStreamRequest(
              path,
              requestSerialize,
              responseDeserialize,
              request,
              metadataOf(call, options),
            )
            .on('status', (end: StatusObject) => noteRefusal(end, options))
      : (request: unknown, call: CallOptions) =>
          new Promise((resolve, reject) => {
            const pending: PendingCall = { callbacks: { resolve, reject } };
            const deadline = Date.now() + (call.deadlineMs ?? options.deadlineMs);
            const { caller, telemetry } = options;
            const observed = observeSentCall(telemetry?.metrics, { path, caller });
            client.makeUnaryRequest(
              path,
              requestSerialize,
              (bytes): object => {
                const refusal = refusalOf(call, bytes);
                // grpc-js passes what this throws to the call's callback.
                const response = refusal === undefined ? responseDeserialize(bytes) : undefined;
                const callbacks = takeCallbacks(pending);
                if (refusal === undefined) callbacks?.resolve(response);
                else callbacks?.reject(refusal);
                return ALREADY_DELIVERED;
              },
              request,
              observed.run(() => metadataOf(call, options)),
              { deadline },
              (error) => {
                observed.end(error?.code ?? 0);
                if (error === null) return;
                noteRefusal(error, options);
                takeCallbacks(pending)?.reject(fromGrpcError(error));
              },
            );
          });
  }
  // The methods are built by name from the definition, as the mapped type states.
  return methods as GrpcClient<D, Streams>;
}

function noteRefusal(end: StatusObject, { tokenWatch }: GrpcClientOptions): void {
  if (isTokenRefusal(end)) tokenWatch?.refused();
}

/** What `receive` throws for a response of this size. */
function refusalOf({ receive }: CallOptions, { length }: Buffer): Error | undefined {
  try {
    receive?.(length);
    return undefined;
  } catch (error) {
    return toError(error);
  }
}

/**
 * Placeholder for grpc-js: the response was already delivered when its bytes arrived, one event-loop turn before the trailers.
 * Our services never fail after they have sent a message.
 */
const ALREADY_DELIVERED = {};

/**
 * The only reference to a call's callbacks, so that they can be released. Node's HTTP/2 stream, and the call with it, stays in
 * memory until the next full garbage collection, since its WritableState holds a function in V8's old generation.
 */
type PendingCall = { callbacks: PromiseCallbacks | undefined };
type PromiseCallbacks = { resolve: (value: unknown) => void; reject: (reason: unknown) => void };

function takeCallbacks(pending: PendingCall): PromiseCallbacks | undefined {
  const { callbacks } = pending;
  pending.callbacks = undefined;
  return callbacks;
}

function metadataOf(call: CallOptions, { caller, trust }: GrpcClientOptions): Metadata {
  const metadata = new Metadata();
  metadata.set('x-request-id', call.requestId);
  metadata.set('x-caller', call.caller ?? caller);
  if (call.traceparent !== undefined) metadata.set('traceparent', call.traceparent);
  for (const [name, value] of Object.entries(outgoingTraceHeaders())) metadata.set(name, value);
  const token = trust.serviceTokens[0];
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  return metadata;
}
