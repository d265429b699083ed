// The remaining budget of a request: service calls, bytes of their responses, bytes of long texts, time.
import { invalidRequest, ServiceError } from '../../services/platform/errors.ts';
import type { CallOptions } from '../../services/platform/grpc/client.ts';
import { isMessageTooLarge } from '../../services/platform/grpc/status.ts';
import { BYTES_OF_COST } from './field-costs.ts';
import type { Lanes } from './lanes.ts';
import { LIMITS } from './limits.ts';

type Rpc<Q, R> = (request: Q, call: CallOptions) => Promise<R>;

export type RequestBudget = {
  /**
   * Makes a call when the caller has few enough under way.
   * @throws INVALID_REQUEST beyond the byte limit of a request; UNAVAILABLE after its time limit.
   */
  read<Q, R>(rpc: Rpc<Q, R>, request: Q): Promise<R>;
  /** Runs the calls that read the long texts of one list, in turn with the caller's others. `work` must not call it again. */
  readLongTexts<T>(work: () => Promise<T>): Promise<T>;
  /** Counts a long text of the response, and returns it. @throws INVALID_REQUEST beyond the response limit. */
  answer(text: string): string;
};

type BudgetOptions = {
  call: CallOptions;
  /** The caller's lanes. */
  lanes: Lanes;
  /** The measured size of the response without long texts. */
  cost: number;
  /** Whether the client has disconnected. */
  isAbandoned: () => boolean;
  /** Milliseconds of a monotonic clock; Infinity for no limit. */
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
    read: (rpc, request) => lanes.calls(() => readNow(rpc, request)),
    readLongTexts: (work) => lanes.longTexts(work),
    answer(text) {
      textBytes += Buffer.byteLength(JSON.stringify(text));
      if (textBytes > leftForTexts) throw TOO_MUCH;
      return text;
    },
  };
}

// Shared error instances, so that a request that fails in many places logs once.
const TOO_MUCH = invalidRequest(
  'query',
  'The answer would hold more than 16 MiB: ask for fewer rows, or leave out content and sourceUrl.',
);
const TOO_LATE = new ServiceError('UNAVAILABLE', {
  cause: new Error('the request ran out of time, or the client disconnected'),
});
