// Lists that are asked for at the same moment, read by one RPC: half of what a list costs is the call.
import { coalesce } from './coalesce.ts';
import { isErrorReason, ServiceError, toError } from './errors.ts';
import type { CallOptions } from './grpc-client.ts';
import { isMessageTooLarge } from './grpc-status.ts';

/** As many lists as a batch may hold. */
export const MAX_LISTS_OF_BATCH = 16;

/** An outcome as the proto loader gives it: a list, an error of its own, or left to a call of its own. */
export type BatchOutcome<L> = {
  list?: L | null;
  error?: { reason: string; message: string; field: string } | null;
  deferred?: boolean;
};

/** With two, the services wait for each other: the next call is sent only when the last is read. More make the batches small. */
const MAX_AT_ONCE = 4;

/**
 * Reads a list by an rpc that reads several, together with others, of any users and callers; one alone goes by the rpc for
 * one, as does one that the batch has left to it, and what `isCostly`. The call of a batch carries the ids of all its
 * requests, and else what its first one does.
 */
export function batchLists<Q extends { userId?: string }, L>(
  readBatch: (batch: { requests: Q[] }, call: CallOptions) => Promise<{ outcomes: BatchOutcome<L>[] }>,
  readOne: (request: Q, call: CallOptions) => Promise<L>,
  isCostly: (request: Q) => boolean = () => false,
): (request: Q, call: CallOptions) => Promise<L> {
  type Asked = { request: Q; call: CallOptions };
  const readAlone = ({ request, call }: Asked) => readOne(request, call).catch(toError);
  const readAll = async (asked: readonly Asked[]): Promise<(L | Error)[]> => {
    const [first] = asked;
    if (first === undefined) return [];
    if (asked.length === 1) return [await readAlone(first)];
    const requests = asked.map(({ request }) => request);
    const outcomes = await readBatch({ requests }, sharedCall(first.call, asked)).then(
      (answer) => answer.outcomes,
      aloneUnlessAway,
    );
    return Promise.all(
      asked.map(async (each, index) => {
        const { list, error } = outcomes[index] ?? {};
        if (list) return list;
        return error ? toServiceError(error) : readAlone(each);
      }),
    );
  };
  const holderOf = ({ request }: Asked) => request.userId ?? '';
  const read = coalesce(readAll, { max: MAX_LISTS_OF_BATCH, atOnce: MAX_AT_ONCE, holderOf });
  return (request, call) => (isCostly(request) ? readOne(request, call) : read({ request, call }));
}

/** The options of a call that is made for several: the ids of all, and else what the first one has, but for its bounds. */
export function sharedCall(first: CallOptions, asked: readonly { call: CallOptions }[]): CallOptions {
  return { ...first, requestId: asked.map(({ call }) => call.requestId).join(','), receive: undefined };
}

/**
 * No outcomes where a batch failed, so that each is read alone: it may have failed for one of them.
 * @throws `error` where the service is away, since more calls would not help it.
 */
export function aloneUnlessAway(error: unknown): [] {
  const isAway = error instanceof ServiceError && error.reason === 'UNAVAILABLE' && !isMessageTooLarge(error);
  if (isAway) throw error;
  return [];
}

function toServiceError({ reason, message, field }: { reason: string; message: string; field: string }) {
  return new ServiceError(isErrorReason(reason) ? reason : 'INTERNAL_ERROR', {
    message,
    ...(field !== '' && { field }),
  });
}
