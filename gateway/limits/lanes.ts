// Bounds the concurrent service calls of each caller over all its requests.
import { atMost } from '../../services/platform/concurrency/at-most.ts';
import { LIMITS } from './limits.ts';

/**
 * The kinds of calls: alone; alone and one at a time, for responses with long texts; or in a batch, which has its own bounds
 * (shared-reads.ts).
 */
export type Lane = 'own' | 'large' | 'shared';
export type Lanes = Record<Lane, <T>(work: () => Promise<T>) => Promise<T>>;

/** The lanes by caller name; the number of callers is the number of tokens. */
export function createLanes(): (caller: string) => Lanes {
  const ofCallers = new Map<string, Lanes>();
  return (caller) => {
    const known = ofCallers.get(caller);
    if (known !== undefined) return known;
    const own = atMost(LIMITS.rpcsAtOnce);
    const alone = atMost(1);
    const lanes: Lanes = {
      own,
      large: (work) => alone(() => own(work)),
      shared: atMost(LIMITS.sharedReadsAtOnce),
    };
    ofCallers.set(caller, lanes);
    return lanes;
  };
}
