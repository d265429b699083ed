// Bounds the concurrent service calls of each caller over all its requests.
import { LRUCache } from 'lru-cache';
import { atMost } from '../../services/platform/concurrency.ts';
import { LIMITS } from './limits.ts';

type Enter = <T>(work: () => Promise<T>) => Promise<T>;
/** `longTexts`: one list at a time reads its long texts, since it holds them until it is complete. */
export type Lanes = Record<'calls' | 'longTexts', Enter>;

/** Callers whose lanes are kept: those who called last. */
const MAX_CALLERS = 10_000;

/** The lanes by caller name. */
export function createLanes(): (caller: string) => Lanes {
  const ofCallers = new LRUCache<string, Lanes>({
    max: MAX_CALLERS,
    memoMethod: () => ({
      calls: atMost(LIMITS.rpcsAtOnce),
      longTexts: atMost(1),
    }),
  });
  return (caller) => ofCallers.memo(caller);
}
