// Reads what a batch of lists was answered: each outcome is a list, an error of its own, or left to a call of its own.
import { isErrorReason, ServiceError } from './errors.ts';

/** As many lists as a batch may hold. */
export const MAX_LISTS_OF_BATCH = 16;

/** An outcome as the proto loader gives it; exactly one of the three is set. */
export type BatchOutcome<L> = {
  list?: L | null;
  error?: { reason: string; message: string; field: string } | null;
  deferred?: boolean;
};

/** For each request, in order, its list or its error; one for which the batch had no room is read alone. */
export function settleOutcomes<Q, L>(
  requests: readonly Q[],
  outcomes: readonly BatchOutcome<L>[],
  readAlone: (request: Q) => Promise<L>,
): Promise<(L | Error)[]> {
  return Promise.all(
    requests.map(async (request, index) => {
      const { list, error } = outcomes[index] ?? {};
      if (list) return list;
      return error ? toServiceError(error) : readAlone(request).catch(toError);
    }),
  );
}

/** For loaders, which take an error as an answer. */
export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function toServiceError({ reason, message, field }: { reason: string; message: string; field: string }) {
  return new ServiceError(isErrorReason(reason) ? reason : 'INTERNAL_ERROR', {
    message,
    ...(field !== '' && { field }),
  });
}
