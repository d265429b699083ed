// Answers several list requests in one call, each apart from the others.
import { MAX_LISTS_OF_BATCH } from '../../platform/batched-lists.ts';
import { ERROR_CATALOGUE, invalidField, toServiceError } from '../../platform/errors.ts';

/** Instead of a list: it is to be asked for by itself. */
export const DEFERRED = Symbol('deferred');

type Outcome<L> =
  | { list: L }
  | { error: { reason: string; message: string; field: string } }
  | { deferred: true };

/**
 * A fault of the service that not all have leaves those that have it to calls of their own.
 * @throws INVALID_REQUEST, field requests, for a bad number of them; and the fault of the service that all have.
 */
export async function answerBatch<Q, L>(
  requests: readonly Q[],
  answer: (request: Q) => Promise<L | typeof DEFERRED>,
): Promise<{ outcomes: Outcome<L>[] }> {
  if (requests.length < 1 || requests.length > MAX_LISTS_OF_BATCH) {
    throw invalidField('requests', `requests must hold 1 to ${MAX_LISTS_OF_BATCH}.`);
  }
  const settled = await Promise.allSettled(requests.map(answer));
  const faults = settled.filter((result) => result.status === 'rejected' && isOurs(result.reason));
  if (faults.length === settled.length && faults[0]?.status === 'rejected') throw faults[0].reason;
  return {
    outcomes: settled.map((result): Outcome<L> => {
      if (result.status === 'rejected')
        return isOurs(result.reason) ? { deferred: true } : { error: toBatchError(result.reason) };
      return result.value === DEFERRED ? { deferred: true } : { list: result.value };
    }),
  };
}

const isOurs = (reason: unknown) => ERROR_CATALOGUE[toServiceError(reason).reason].httpStatus >= 500;

function toBatchError(thrown: unknown) {
  const { reason, message, field } = toServiceError(thrown);
  return { reason, message, field: field ?? '' };
}
