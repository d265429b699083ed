// Answers several list requests in one call, each apart from the others, within a bounded size.
import type { MaterialInput } from '../../../generated/scheduling/v1/Material.ts';
import { MAX_LISTS_OF_BATCH } from '../../platform/batched-lists.ts';
import { ERROR_CATALOGUE, invalidField, toServiceError } from '../../platform/errors.ts';

/** Once the lists answered hold more text than this, the others are left to calls of their own. */
const FULL_BYTES = 4 * 1024 * 1024;

type List = { materials: MaterialInput[]; nextPageToken: string };
type Outcome =
  | { list: List }
  | { error: { reason: string; message: string; field: string } }
  | { deferred: true };

/** @throws INVALID_REQUEST, field requests, for a bad number of them; and what is not the fault of one request alone. */
export async function answerBatch<Q>(
  requests: readonly Q[],
  answer: (request: Q) => Promise<List>,
): Promise<{ outcomes: Outcome[] }> {
  if (requests.length < 1 || requests.length > MAX_LISTS_OF_BATCH) {
    throw invalidField('requests', `requests must hold 1 to ${MAX_LISTS_OF_BATCH}.`);
  }
  const settled = await Promise.allSettled(requests.map(answer));
  let bytes = 0;
  const outcomes = settled.map((result): Outcome => {
    if (result.status === 'rejected') return { error: toBatchError(result.reason) };
    if (bytes > FULL_BYTES) return { deferred: true };
    bytes += result.value.materials.reduce((sum, material) => sum + textBytes(material), 0);
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

function textBytes({ title = '', content, sourceUrl }: MaterialInput): number {
  return Buffer.byteLength(title) + Buffer.byteLength(content ?? '') + Buffer.byteLength(sourceUrl ?? '');
}
