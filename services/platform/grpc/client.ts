// The client of all gRPC calls between services: promises, a deadline per unary call, the request ID, decoded errors.
import {
  Client,
  type ClientOptions,
  type ClientReadableStream,
  credentials,
  type ServiceError as GrpcError,
  Metadata,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';
import { observeSentCall } from '../observability/observe.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { outgoingTraceHeaders } from '../observability/tracing.ts';
import type { GrpcTrust } from '../process/common-config.ts';
import { loadProto, serviceDefinition } from '../protobuf/load.ts';
import { toError } from '../thrown.ts';
import type { LocalServer } from './handlers.ts';
import { fromGrpcError, RETRIED } from './status.ts';

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
  // The services call each other directly, also where http_proxy is set for the way to the Internet.
  'grpc.enable_http_proxy': 0,
  // Nobody reads grpc-js's own count of each call and connection: srs_grpc_client_call_duration_seconds has them.
  'grpc.enable_channelz': 0,
  'grpc-node.flow_control_window': 4 * 1024 * 1024,
};

/**
 * Detects a dead connection within 14.5 s. If a ping is sent after the server has begun to close a connection, grpc-js treats the
 * connection as lost and cancels its remaining calls (grpc/grpc-node#3068). Servers close connections at an age of 27 to 33 s
 * (server.ts), so pings are sent at 12.5, 25 and 37.5 s. Streams outlive that age, so they have no keepalive. A server that shuts
 * down closes connections of any age: a ping can then still cancel its last calls, which mostly take milliseconds.
 */
const KEEPALIVE: ClientOptions = {
  'grpc.keepalive_time_ms': 12_500,
  'grpc.keepalive_timeout_ms': 2_000,
  'grpc.keepalive_permit_without_calls': 1,
};

export type CallOptions = {
  requestId: string;
  /** The caller's W3C trace, if there is one. */
  traceparent?: string | undefined;
  /** Default: the client's. */
  deadlineMs?: number;
  /** The caller in the server's audit log; default: the client's name. */
  caller?: string;
  /** ID of the API key that the request was authenticated with, if any: its writes are attributed to that key. */
  apiKeyId?: string | undefined;
  /** Called with the size of the response before it is decoded. The call fails with what it throws. */
  receive?: ((bytes: number) => void) | undefined;
};

type MethodNames<D> = keyof {
  [K in keyof D as string extends K ? never : number extends K ? never : K]: true;
} &
  string;
type InputOf<M> = M extends MethodDefinition<infer Q, infer _R, infer _Q, infer _O> ? Q : never;
type OutputOf<M> = M extends MethodDefinition<infer _Q, infer _R, infer _I, infer O> ? O : never;

/**
 * The rpcs of definition D as functions in camelCase. Those named in Streams return a stream. Those named in Uploads send messages, each
 * when the server has taken the one before, and resolve to its response.
 */
export type GrpcClient<D, Streams extends MethodNames<D> = never, Uploads extends MethodNames<D> = never> = {
  [M in Exclude<MethodNames<D>, Streams | Uploads> as Uncapitalize<M>]: (
    request: InputOf<D[M]>,
    options: CallOptions,
  ) => Promise<OutputOf<D[M]>>;
} & {
  [M in Streams as Uncapitalize<M>]: (
    request: InputOf<D[M]>,
    options: CallOptions,
  ) => ClientReadableStream<OutputOf<D[M]>>;
} & {
  [M in Uploads as Uncapitalize<M>]: (
    messages: AsyncIterable<InputOf<D[M]>> | Iterable<InputOf<D[M]>>,
    options: Omit<CallOptions, 'receive'>,
  ) => Promise<OutputOf<D[M]>>;
} & { close(): void };

type GrpcClientOptions = {
  /**
   * host:port, or ipv4:host:port,host:port. A host name resolves to all its addresses; calls go round-robin. It is resolved again
   * when a connection ends; servers end each connection after about 30 s.
   */
  target: string;
  trust: GrpcTrust;
  /** This program's name, for the server's audit log. */
  caller: string;
  deadlineMs: number;
  /** A larger response is refused before it is read; see `isMessageTooLarge`. Default: 64 MiB. */
  maxMessageBytes?: number;
  telemetry?: Telemetry;
  /** The server, if it runs in this process: unary calls then bypass the network. Streams still connect to `target`. */
  local?: LocalServer | undefined;
};

/** The services that run in this process, by the name of their package. */
export type LocalServers = { readonly [packageName: string]: LocalServer | undefined };

/** A function that makes the client of a service by its name in `packageName`, such as "accounts.v1"; D is its definition. */
export function clientsOf(
  packageName: string,
  { locals, ...options }: Omit<GrpcClientOptions, 'local'> & { locals?: LocalServers | undefined },
) {
  const proto = loadProto(packageName);
  const local = locals?.[packageName];
  return <
    D extends ServiceDefinition,
    Streams extends MethodNames<D> = never,
    Uploads extends MethodNames<D> = never,
  >(
    service: string,
  ) =>
    createGrpcClient<D, Streams, Uploads>(serviceDefinition<D>(proto, `${packageName}.${service}`), {
      ...options,
      local,
    });
}

/**
 * Unary calls and uploads reject with ServiceError. If a replica dies during a read, the read is retried on another one first. A stream
 * emits grpc-js's own 'error' event. Streams have no deadline; an upload has one only if `deadlineMs` is passed.
 */
export function createGrpcClient<
  D extends ServiceDefinition,
  Streams extends MethodNames<D> = never,
  Uploads extends MethodNames<D> = never,
>(definition: D, options: GrpcClientOptions): GrpcClient<D, Streams, Uploads> {
  const { caller, local, maxMessageBytes, telemetry } = options;
  const { tls } = options.trust;
  const channelCredentials =
    tls === undefined
      ? credentials.createInsecure()
      : credentials.createSsl(tls.authority, tls.key, tls.certificate);
  const channelOptions: ClientOptions = {
    ...CHANNEL_OPTIONS,
    'grpc.service_config': serviceConfigOf(definition),
    'grpc.max_receive_message_length': maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
  };
  const client = new Client(options.target, channelCredentials, { ...channelOptions, ...KEEPALIVE });
  let streams: Client | undefined;

  const callUnary = async (method: UnknownMethod, request: unknown, call: CallOptions) => {
    const { path } = method;
    const deadlineMs = call.deadlineMs ?? options.deadlineMs;
    const refuse = call.receive && refuserOf(call.receive);
    const observed = observeSentCall(telemetry?.metrics, { path, caller });
    const metadata = observed.run(() => metadataOf(call, options));
    const sent =
      local === undefined
        ? sendUnary(client, method, request, { metadata, deadlineMs, refuse })
        : local.call(path, request, { metadata, deadlineMs, maxMessageBytes, refuse });
    const response = await sent.catch((error: GrpcError) => {
      observed.end(error.code);
      throw fromGrpcError(error);
    });
    observed.end(status.OK);
    if (response instanceof Error) throw response;
    return response;
  };

  const streamClient = () => {
    streams ??= new Client(options.target, channelCredentials, channelOptions);
    return streams;
  };

  const openStream = (method: UnknownMethod, request: unknown, call: CallOptions) => {
    return streamClient().makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadataOf(call, options),
    );
  };

  const upload = async (method: UnknownMethod, messages: AsyncIterable<unknown>, call: CallOptions) => {
    const observed = observeSentCall(telemetry?.metrics, { path: method.path, caller });
    const metadata = observed.run(() => metadataOf(call, options));
    const response = await sendStream(streamClient(), method, messages, { metadata, ...call }).catch(
      (error: unknown) => {
        if (!isGrpcError(error)) throw error;
        observed.end(error.code);
        throw fromGrpcError(error);
      },
    );
    observed.end(status.OK);
    return response;
  };

  const methods: Record<string, unknown> = {
    close() {
      client.close();
      streams?.close();
    },
  };
  for (const [name, method] of Object.entries(definition)) {
    const camelName = name.charAt(0).toLowerCase() + name.slice(1);
    const send = method.responseStream ? openStream : callUnary;
    methods[camelName] = method.requestStream
      ? (messages: AsyncIterable<unknown>, call: CallOptions) => upload(method, messages, call)
      : (request: unknown, call: CallOptions) => send(method, request, call);
  }
  // The methods are built by name from the definition, as the mapped type states.
  return methods as GrpcClient<D, Streams, Uploads>;
}

/** Paths of rpcs that are safe to retry. */
const READ = /\/(Count|Get|List|Find|Search|Preview|Verify|BatchGet|BatchList)/;

/**
 * The gRPC service config as JSON. Reads are retried once, but only for failures that the transport reports: our servers mark
 * their own failures as not retryable (status.ts). After several failures in a row, retries stop until enough calls have succeeded.
 */
export function serviceConfigOf(definition: ServiceDefinition): string {
  const name = Object.values(definition)
    .filter(({ path, responseStream }) => READ.test(path) && !responseStream)
    .map(({ path }) => {
      const [, service, method] = path.split('/');
      return { service, method };
    });
  const retryPolicy = {
    maxAttempts: 2,
    initialBackoff: '0.02s',
    maxBackoff: '0.02s',
    backoffMultiplier: 1,
    retryableStatusCodes: RETRIED,
  };
  return JSON.stringify({
    loadBalancingConfig: [{ round_robin: {} }],
    methodConfig: [{ name, retryPolicy }],
    retryThrottling: { maxTokens: 20, tokenRatio: 0.1 },
  });
}

type UnknownMethod = ServiceDefinition[string];

/** Resolves to the response, or to the Error that `refuse` returns for its size. @throws GrpcError. */
function sendUnary(
  client: Client,
  { path, requestSerialize, responseDeserialize }: UnknownMethod,
  request: unknown,
  call: { metadata: Metadata; deadlineMs: number; refuse: ReturnType<typeof refuserOf> | undefined },
): Promise<unknown> {
  const deserialize = (bytes: Buffer) => call.refuse?.(bytes.length) ?? responseDeserialize(bytes);
  const deadline = Date.now() + call.deadlineMs;
  return new Promise((resolve, reject) => {
    const done = (error: GrpcError | null, response?: unknown) => {
      if (error === null) resolve(response);
      else reject(error);
    };
    client.makeUnaryRequest(path, requestSerialize, deserialize, request, call.metadata, { deadline }, done);
  });
}

/**
 * Sends messages as fast as the server accepts them. @throws GrpcError, which can come before the last message is sent; or the error
 * that `messages` throws, after the call is cancelled.
 */
async function sendStream(
  client: Client,
  { path, requestSerialize, responseDeserialize }: UnknownMethod,
  messages: AsyncIterable<unknown> | Iterable<unknown>,
  { metadata, deadlineMs }: { metadata: Metadata; deadlineMs?: number },
): Promise<unknown> {
  const { promise: answered, resolve, reject } = Promise.withResolvers<unknown>();
  let isAnswered = false;
  const done = (error: GrpcError | null, response?: unknown) => {
    isAnswered = true;
    if (error === null) resolve(response);
    else reject(error);
  };
  const deadline = deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
  const call = client.makeClientStreamRequest(
    path,
    requestSerialize,
    responseDeserialize,
    metadata,
    deadline,
    done,
  );
  // Handled below, or superseded by what `messages` throws.
  answered.catch(() => {});
  try {
    for await (const message of messages) {
      const written = new Promise<void>((taken) => call.write(message, () => taken()));
      await Promise.race([written, answered]);
      if (isAnswered) break;
    }
  } catch (error) {
    call.cancel();
    throw error;
  }
  call.end();
  return answered;
}

function isGrpcError(error: unknown): error is GrpcError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'metadata' in error;
}

/** A function that returns what `receive` throws for a response of that size. */
function refuserOf(receive: (bytes: number) => void): (bytes: number) => Error | undefined {
  return (bytes) => {
    try {
      receive(bytes);
      return undefined;
    } catch (error) {
      return toError(error);
    }
  };
}

function metadataOf(call: CallOptions, { caller, trust }: GrpcClientOptions): Metadata {
  const metadata = new Metadata();
  metadata.set('x-request-id', call.requestId);
  metadata.set('x-caller', call.caller ?? caller);
  if (call.apiKeyId !== undefined) metadata.set('x-api-key-id', call.apiKeyId);
  if (call.traceparent !== undefined) metadata.set('traceparent', call.traceparent);
  for (const [name, value] of Object.entries(outgoingTraceHeaders())) metadata.set(name, value);
  const token = trust.serviceTokens[0];
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  return metadata;
}
