// What a request may use while it runs: calls to the services, bytes of their answers, fields of its own answer, time. A document
// that costs too much is refused here, during execution.

import { atMostPerKey } from '../services/platform/concurrency.ts';
import { invalidRequest, unavailable } from '../services/platform/errors.ts';
import type { CallOptions } from '../services/platform/grpc/client.ts';
import { isMessageTooLarge } from '../services/platform/grpc/status.ts';

const MIB = 1024 * 1024;

/** Documented in docs/gateway.md. */
export const LIMITS = {
  /** Requests in progress per process. */
  requestsAtOnce: 96,
  bodyBytes: 100 * 1024,
  /** Service calls of a request. */
  calls: 250,
  /** Service calls of a caller at once, so that one cannot use a service's whole pool. */
  callsAtOnce: 32,
  mutations: 10,
  /** Fields of an answer, each counted for every row that has it. */
  fields: 50_000,
  /** Bytes of all service answers, of one of them, and of the long texts in the gateway's answer. */
  answerBytes: 16 * MIB,
  /** After this a query starts no more calls. */
  queryMs: 10_000,
} as const;

type Rpc<Q, R> = (request: Q, call: CallOptions) => Promise<R>;

export type Budget = {
  /** @throws INVALID_REQUEST beyond the limits of a request; UNAVAILABLE after its time. */
  read<Q, R>(rpc: Rpc<Q, R>, request: Q): Promise<R>;
  /** Like `read`, for an answer with long texts. Each caller has one at a time, since it is in memory as a whole. */
  readLongTexts<Q, R>(rpc: Rpc<Q, R>, request: Q): Promise<R>;
  /** Counts a field of the answer. Beyond the limit it returns a rejection with INVALID_REQUEST, to be used as the field's value. */
  countField(): Promise<never> | undefined;
  /** Counts a long text of the answer, and returns it. @throws INVALID_REQUEST beyond the limit of bytes. */
  answer(text: string): string;
};

type CallerLimits = ReturnType<typeof createCallerLimits>;

/** What all requests of a caller share, by the caller's name. */
export function createCallerLimits() {
  return { calls: atMostPerKey<string>(LIMITS.callsAtOnce), longTexts: atMostPerKey<string>(1) };
}

export function createBudget({
  call,
  caller,
  limits,
  isAbandoned,
  endMs,
}: {
  call: CallOptions;
  caller: string;
  limits: CallerLimits;
  /** Whether the client has disconnected. */
  isAbandoned: () => boolean;
  /** Of `performance.now()`; Infinity for no end. */
  endMs: number;
}): Budget {
  let [calls, readBytes, fields, textBytes] = [0, 0, 0, 0];
  const receive = (bytes: number) => {
    readBytes += bytes;
    if (readBytes > LIMITS.answerBytes) throw TOO_MANY_BYTES;
  };
  const counted: CallOptions = { ...call, receive };
  const readNow = async <Q, R>(rpc: Rpc<Q, R>, request: Q): Promise<R> => {
    calls += 1;
    if (calls > LIMITS.calls) throw TOO_MANY_CALLS;
    if (readBytes > LIMITS.answerBytes) throw TOO_MANY_BYTES;
    if (isAbandoned() || performance.now() > endMs) throw TOO_LATE;
    try {
      return await rpc(request, counted);
    } catch (error) {
      throw isMessageTooLarge(error) ? TOO_MANY_BYTES : error;
    }
  };
  const read: Budget['read'] = (rpc, request) => limits.calls(caller, () => readNow(rpc, request));
  return {
    read,
    readLongTexts: (rpc, request) => limits.longTexts(caller, () => read(rpc, request)),
    countField() {
      fields += 1;
      // A throw would leave other rows' promises unhandled: graphql-js completes the rows of a list one by one.
      return fields > LIMITS.fields ? Promise.reject(TOO_MANY_FIELDS) : undefined;
    },
    answer(text) {
      textBytes += Buffer.byteLength(JSON.stringify(text));
      if (textBytes > LIMITS.answerBytes) throw TOO_MANY_BYTES;
      return text;
    },
  };
}

// Shared error instances, so that a request that fails in many places logs once.
const TOO_MANY_BYTES = invalidRequest(
  'query',
  'The answer would hold more than 16 MiB: ask for fewer rows, or leave out content and sourceUrl.',
);
const TOO_MANY_CALLS = invalidRequest(
  'query',
  `The query takes more than ${LIMITS.calls} calls to the services: ask for smaller pages.`,
);
const TOO_MANY_FIELDS = invalidRequest(
  'query',
  `The answer would have more than ${LIMITS.fields} fields: ask for fewer fields or smaller pages.`,
);
const TOO_LATE = unavailable('the request ran out of time, or the client disconnected');
