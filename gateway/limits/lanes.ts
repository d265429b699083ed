// Bounds the concurrent service calls of each caller over all its requests.
import { LRUCache } from 'lru-cache';
import { atMost } from '../../services/platform/concurrency.ts';
import { LIMITS } from './limits.ts';

/** The kinds of calls: alone, or in a batch, which has its own bounds (shared-reads.ts). */
export type Lane = 'own' | 'shared';
type Enter = <T>(work: () => Promise<T>) => Promise<T>;
/** `longTexts`: one list at a time reads its long texts, since it holds them until it is complete. */
export type Lanes = Record<Lane | 'longTexts', Enter>;

/** Callers whose lanes are kept: those who called last. */
const MAX_CALLERS = 10_000;

/** The lanes by caller name. */
export function createLanes(): (caller: string) => Lanes {
  const ofCallers = new LRUCache<string, Lanes>({
    max: MAX_CALLERS,
    memoMethod: () => ({
      own: atMost(LIMITS.rpcsAtOnce),
      shared: atMost(LIMITS.sharedReadsAtOnce),
      longTexts: atMost(1),
    }),
  });
  return (caller) => ofCallers.memo(caller);
}
