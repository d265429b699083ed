// Answers several list requests in one call, each apart from the others, within a bounded size.
import { MAX_LISTS_OF_BATCH } from '../../platform/batched-lists.ts';
import { ERROR_CATALOGUE, invalidField, toServiceError } from '../../platform/errors.ts';

/** Once the lists answered hold more than this, the others are left to calls of their own. */
const FULL_BYTES = 4 * 1024 * 1024;

type Outcome<L> =
  | { list: L }
  | { error: { reason: string; message: string; field: string } }
  | { deferred: true };

/** @throws INVALID_REQUEST, field requests, for a bad number of them; and what is not the fault of one request alone. */
export async function answerBatch<Q, L>(
  requests: readonly Q[],
  answer: (request: Q) => Promise<L>,
  bytesOf: (list: L) => number,
): Promise<{ outcomes: Outcome<L>[] }> {
  if (requests.length < 1 || requests.length > MAX_LISTS_OF_BATCH) {
    throw invalidField('requests', `requests must hold 1 to ${MAX_LISTS_OF_BATCH}.`);
  }
  const settled = await Promise.allSettled(requests.map(answer));
  let bytes = 0;
  const outcomes = settled.map((result): Outcome<L> => {
    if (result.status === 'rejected') return { error: toBatchError(result.reason) };
    if (bytes > FULL_BYTES) return { deferred: true };
    bytes += bytesOf(result.value);
    return { list: result.value };
  });
  return { outcomes };
}

/** A fault of the service itself is every request's: it fails the call, and is logged there. */
function toBatchError(reason: unknown) {
  const error = toServiceError(reason);
  if (ERROR_CATALOGUE[error.reason].httpStatus >= 500) throw reason;
  return { reason: error.reason, message: error.message, field: error.field ?? '' };
}
