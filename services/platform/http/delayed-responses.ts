// Sends responses after a delay, which slows down clients that wait for one before their next request.
import type { EventEmitter } from 'node:events';

type DelayedResponses = {
  /**
   * Calls `respond` after `ms` or on `flush`, whichever is first; never after `closing` emits 'close'.
   * @returns false without effect if the maximum is already waiting.
   */
  add(closing: EventEmitter, ms: number, respond: () => void): boolean;
  /** Sends all waiting responses at once, for the shutdown. */
  flush(): void;
};

/** Holds at most `maxWaiting` responses, since each takes memory. */
export function createDelayedResponses(maxWaiting: number): DelayedResponses {
  const waiting = new Set<() => void>();
  return {
    add(closing, ms, respond) {
      if (waiting.size >= maxWaiting) return false;
      const remove = () => {
        clearTimeout(timer);
        waiting.delete(respondOnce);
        closing.off('close', remove);
      };
      const respondOnce = () => {
        remove();
        respond();
      };
      const timer = setTimeout(respondOnce, ms);
      waiting.add(respondOnce);
      closing.once('close', remove);
      return true;
    },
    flush() {
      for (const respond of [...waiting]) respond();
    },
  };
}
