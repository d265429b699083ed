// What one request may still take: calls to the services, bytes that they answer, bytes of long texts, time.
import { ServiceError } from '../../services/platform/errors.ts';
import type { CallOptions } from '../../services/platform/grpc-client.ts';
import { isMessageTooLarge } from '../../services/platform/grpc-status.ts';
import { refuseDocument } from '../errors.ts';
import { BYTES_OF_COST } from './field-costs.ts';
import type { Lane, Lanes } from './lanes.ts';
import { LIMITS } from './limits.ts';

type Rpc<Q, R> = (request: Q, call: CallOptions) => Promise<R>;

export type RequestBudget = {
  /**
   * Makes a call once its lane has room.
   * @throws INVALID_REQUEST for more bytes than a request may read; UNAVAILABLE where it is too late to begin one more.
   */
  read<Q, R>(rpc: Rpc<Q, R>, request: Q, lane?: Lane): Promise<R>;
  /** Counts a long text that is to be answered, and returns it. @throws INVALID_REQUEST for more than an answer may hold. */
  answer(text: string): string;
};

export type BudgetOptions = {
  call: CallOptions;
  /** Of the caller. */
  lanes: Lanes;
  /** What the document was measured at: the part of the answer that is not long texts. */
  cost: number;
  /** Whether nobody waits for the answer. */
  isAbandoned: () => boolean;
  /** In milliseconds of any monotonic clock; Infinity for no end. */
  endMs: number;
  nowMs: () => number;
};

export function createRequestBudget(options: BudgetOptions): RequestBudget {
  const { call, lanes, cost, isAbandoned, endMs, nowMs } = options;
  const leftForTexts = LIMITS.answerBytes - cost * BYTES_OF_COST;
  let [rpcs, readBytes, textBytes] = [0, 0, 0];
  const requireRoom = () => {
    rpcs += 1;
    if (readBytes > LIMITS.answerBytes || rpcs > LIMITS.rpcs) throw TOO_MUCH;
    if (isAbandoned() || nowMs() > endMs) throw TOO_LATE;
  };
  const receive = (bytes: number) => {
    readBytes += bytes;
    if (readBytes > LIMITS.answerBytes) throw TOO_MUCH;
  };
  const counted: CallOptions = { ...call, receive };
  const readNow = async <Q, R>(rpc: Rpc<Q, R>, request: Q): Promise<R> => {
    requireRoom();
    try {
      return await rpc(request, counted);
    } catch (error) {
      throw isMessageTooLarge(error) ? TOO_MUCH : error;
    }
  };
  return {
    read: (rpc, request, lane = 'own') => lanes[lane](() => readNow(rpc, request)),
    answer(text) {
      textBytes += jsonBytes(text);
      if (textBytes > leftForTexts) throw TOO_MUCH;
      return text;
    },
  };
}

// One of each, so that a request that fails in a hundred places logs it once.
const TOO_MUCH = refuseDocument(
  'The answer would hold more than 16 MiB: ask for fewer rows, or leave out content and sourceUrl.',
);
const TOO_LATE = new ServiceError('UNAVAILABLE', {
  cause: new Error('the request has taken its time, or its client has gone'),
});

const [SPACE, QUOTE, BACKSLASH] = [0x20, 0x22, 0x5c];

/** How many bytes JSON.stringify makes of it in UTF-8, at most. */
function jsonBytes(text: string): number {
  let bytes = 2;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < SPACE) bytes += 6;
    else if (code === QUOTE || code === BACKSLASH) bytes += 2;
    else if (code < 0x80) bytes += 1;
    // Half of a surrogate pair: the whole of it takes four.
    else bytes += code < 0x800 || (code & 0xf800) === 0xd800 ? 2 : 3;
  }
  return bytes;
}
