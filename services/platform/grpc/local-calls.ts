// Calls a server of the same process without a wire. Its caller, its handlers and its log see what they would see over gRPC.
import {
  type ServiceError as GrpcError,
  Metadata,
  type MethodDefinition,
  type StatusObject,
  status,
} from '@grpc/grpc-js';
import { responseCopier } from '../protobuf/load.ts';
import { type ServeCall, ServedCall } from './handlers.ts';

type LocalCall = {
  metadata: Metadata;
  deadlineMs: number;
  /** A larger response fails the call. undefined: none is refused. */
  maxMessageBytes: number | undefined;
  /** Gets the size of the response; an Error that it returns takes the place of the response. */
  refuse: ((bytes: number) => Error | undefined) | undefined;
};

export type LocalServer = {
  /**
   * Calls a unary rpc by its path, "/package.Service/Rpc". Neither side gets an object of the other: a request goes through its
   * bytes; a response, whose texts can be long, is copied with its defaults.
   * @throws GrpcError as grpc-js would.
   */
  call(path: string, request: unknown, call: LocalCall): Promise<unknown>;
};

type LocalRpc = { method: MethodDefinition<unknown, unknown>; serveCall: ServeCall };

/** `rpcs`: the unary ones. */
export function createLocalServer(
  rpcs: readonly LocalRpc[],
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
