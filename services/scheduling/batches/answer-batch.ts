// Executes a batch with a separate outcome for each request.
import { within } from '../../platform/concurrency.ts';
import { hasReason, invalidField, toServiceError } from '../../platform/errors.ts';
import { MAX_BATCH, SEND_ALONE_CODE } from '../../platform/grpc/batched-calls.ts';
import { toRpcStatus } from '../../platform/grpc/status.ts';
import type { RpcStatus } from '../../platform/protobuf/google-rpc.ts';

/** Time limit of a batch's statement, which normally takes a few milliseconds; then each request is sent alone. */
const LATE_MS = 500;

const SEND_ALONE: RpcStatus = {
  code: SEND_ALONE_CODE,
  message: 'Send this request as a batch of one.',
  details: [],
};

type BatchRules<Q, P, R> = {
  /** @throws ServiceError for an invalid request. */
  read(request: Q): P;
  answerOne(asked: P): Promise<R>;
  /** In the order of `asked`; undefined for a request that must be sent alone. */
  answerTogether(asked: readonly P[]): Promise<readonly (R | undefined)[]>;
};

/**
 * A single request always runs. Of several, an invalid one fails by itself. Requests that are too large for a batch, or all if the
 * database does not respond in time, get the outcome "send alone".
 * @throws INVALID_REQUEST, field requests, for a wrong number of requests; for a single request, its error.
 */
export async function answerBatch<Q, P, R extends object>(
  requests: readonly Q[],
  { read, answerOne, answerTogether }: BatchRules<Q, P, R>,
) {
  const [first] = requests;
  if (first === undefined || requests.length > MAX_BATCH)
    throw invalidField('requests', `must hold 1 to ${MAX_BATCH}.`);
  if (requests.length === 1) return { responses: [await answerOne(read(first))], failedRequests: {} };
  const failedRequests: Record<number, RpcStatus> = {};
  const asked: { index: number; request: P }[] = [];
  for (const [index, request] of requests.entries()) {
    try {
      asked.push({ index, request: read(request) });
    } catch (error) {
      failedRequests[index] = toRpcStatus(toServiceError(error), 'scheduling.v1');
    }
  }
  const found = await inTime(answerTogether(asked.map(({ request }) => request)));
  const responses: (R | Record<string, never>)[] = requests.map(() => ({}));
  for (const [position, { index }] of asked.entries()) {
    const response = found[position];
    if (response === undefined) failedRequests[index] = SEND_ALONE;
    else responses[index] = response;
  }
  return { responses, failedRequests };
}

/** undefined after a time-out or if the database is unavailable. @throws other errors, which the server logs. */
async function inTime<R>(answers: Promise<readonly R[]>): Promise<readonly R[]> {
  try {
    return await within(answers, LATE_MS, () => []);
  } catch (error) {
    if (hasReason(error, 'UNAVAILABLE')) return [];
    throw error;
  }
}
