// Bounds the calls that one caller has under way: all documents of a caller together ask no more of the services than this.
import { atMost } from '../../services/platform/at-most.ts';
import { LIMITS } from './limits.ts';

/**
 * How a call is made: by itself; by itself and one at a time, since its answer may hold long texts; or by an RPC that it shares
 * with others, which bounds them in its own way (shared-reads.ts).
 */
export type Lane = 'own' | 'large' | 'shared';
export type Lanes = Record<Lane, <T>(work: () => Promise<T>) => Promise<T>>;

/** The lanes of a caller by name. There are as many callers as tokens. */
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
