// Requests of the same moment, of any users, sent as one RPC: half of what a small read costs is the call.
import { status } from '@grpc/grpc-js';
import { createBatcher } from '../concurrency/batcher.ts';
import { within } from '../concurrency.ts';
import { hasReason, ServiceError } from '../errors.ts';
import type { RpcStatus } from '../protobuf/google-rpc.ts';
import type { CallOptions } from './client.ts';
import { fromRpcStatus, isCut, isMessageTooLarge } from './status.ts';

/** Requests that a batch may hold. */
export const MAX_BATCH = 16;

/** A request whose deadline is that close to its batch's has the batch's: a timer for each would cost more than it is worth. */
const TOLERANCE_MS = 100;

/** Of one request of a batch: its answer, what is wrong with it, or that it is to be sent as a batch of one. */
export type Outcome<R> = R | Error | typeof SEND_ALONE;
export const SEND_ALONE = Symbol('send alone');
/** The status of such a request in `failed_requests`. */
export const SEND_ALONE_CODE = status.ABORTED;

/** Calls an rpc that answers several requests; the outcomes are in their order. */
type CallBatch<Q, R> = (requests: readonly Q[], call: CallOptions) => Promise<readonly Outcome<R>[]>;

type BatchOptions<Q> = {
  /** Batches in progress at once. Default: 4. More make the batches small; with 2, client and service wait for each other. */
  maxInFlight?: number;
  /** Whoever asks for much waits behind nobody but themselves. */
  fairnessKeyOf: (request: Q) => string;
  /** Requests of a key under way at once. Default: any number. */
  maxPerKey?: number;
  /** In milliseconds; what a request may take where its call says nothing. */
  deadlineMs: number;
  /** What is known to be costly is sent as a batch of one. Default: nothing is. */
  goesAlone?: (request: Q) => boolean;
};

/**
 * A function that sends each request with those of the same moment. They share nothing but the call: each has a deadline of its own,
 * and where the call fails or leaves one out, that one is sent again alone, in the time it has left.
 */
export function batchCalls<Q, R>(
  callBatch: CallBatch<Q, R>,
  { maxInFlight = 4, fairnessKeyOf, maxPerKey, deadlineMs, goesAlone = () => false }: BatchOptions<Q>,
): (request: Q, call: CallOptions) => Promise<R> {
  type Asked = { request: Q; call: CallOptions; endMs: number };
  const sendAlone = async ({ request, call, endMs }: Asked): Promise<R> => {
    const [outcome] = await callBatch([request], { ...call, deadlineMs: leftUntil(endMs) });
    if (outcome instanceof Error) throw outcome;
    if (outcome === undefined || outcome === SEND_ALONE) throw new Error('a batch of one was not answered');
    return outcome;
  };
  const send = (asked: readonly Asked[]): readonly Promise<R>[] => {
    const [first] = asked;
    if (first === undefined || asked.length === 1) return asked.map(sendAlone);
    const endMs = Math.max(...asked.map((each) => each.endMs));
    const call = {
      ...first.call,
      requestId: asked.map((each) => each.call.requestId).join(','),
      deadlineMs: leftUntil(endMs),
      receive: undefined,
    };
    const outcomes = callBatch(
      asked.map(({ request }) => request),
      call,
    ).catch(noOutcomesUnlessAway);
    return asked.map((each, index) => {
      const settled = outcomes.then(async (found) => {
        const outcome = found[index];
        if (outcome instanceof Error) throw outcome;
        return outcome === undefined || outcome === SEND_ALONE ? sendAlone(each) : outcome;
      });
      return endMs - each.endMs > TOLERANCE_MS ? before(each.endMs, settled) : settled;
    });
  };
  const enter = createBatcher(send, {
    maxSize: MAX_BATCH,
    maxInFlight,
    fairnessKeyOf: ({ request }) => fairnessKeyOf(request),
    ...(maxPerKey !== undefined && { maxPerKey }),
  });
  return (request, call) => {
    const asked = { request, call, endMs: performance.now() + (call.deadlineMs ?? deadlineMs) };
    return goesAlone(request) ? sendAlone(asked) : enter(asked);
  };
}

type BatchResponse<R> = { responses: readonly R[]; failedRequests: { [index: number]: RpcStatus } };

/** `batchCalls` for an rpc that answers several requests of users with `responses` and `failed_requests`. */
export function batchRpc<Q extends { userId?: string }, R>(
  rpc: (batch: { requests: Q[] }, call: CallOptions) => Promise<BatchResponse<R>>,
  options: Omit<BatchOptions<Q>, 'fairnessKeyOf'>,
): (request: Q, call: CallOptions) => Promise<R> {
  return batchCalls(async (requests, call) => toOutcomes(await rpc({ requests: [...requests] }, call)), {
    ...options,
    fairnessKeyOf: ({ userId = '' }) => userId,
  });
}

/** The outcomes of a response that holds one answer for each request, and by index why some failed. */
export function toOutcomes<R>({ responses, failedRequests }: BatchResponse<R>): Outcome<R>[] {
  return responses.map((response, index) => {
    const failed = failedRequests[index];
    if (failed === undefined) return response;
    if (failed.code === SEND_ALONE_CODE) return SEND_ALONE;
    return fromRpcStatus(failed) ?? new ServiceError('INTERNAL_ERROR', { cause: new Error(failed.message) });
  });
}

/**
 * A batch may have failed for one of its requests: then each is sent alone.
 * @throws `error` where the service is away, since more calls would not help it.
 */
function noOutcomesUnlessAway(error: unknown): [] {
  const isAway = hasReason(error, 'UNAVAILABLE') && !isMessageTooLarge(error) && !isCut(error);
  if (isAway) throw error;
  return [];
}

const leftUntil = (endMs: number) => Math.max(1, endMs - performance.now());

/** @throws UNAVAILABLE where `answer` has not come by then. */
function before<R>(endMs: number, answer: Promise<R>): Promise<R> {
  return within(answer, leftUntil(endMs), () => {
    throw new ServiceError('UNAVAILABLE', { cause: new Error('the batch did not answer in time') });
  });
}
