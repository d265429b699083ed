// Remembers which sessions the OpenID provider has ended (OpenID Connect Back-Channel Logout 1.0).
import type { JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';

/** Longer than any token should live; the provider's own limit is usually an hour. */
const KEPT_MS = 24 * 3_600_000;
const MOST = 100_000;

export type EndedSessions = {
  /** Ends the session `sid`, or every session of the person `sub` if there is no `sid`. */
  end(logout: { sid?: string; sub?: string }): void;
  /** Whether the session of a token has ended since the token was issued. */
  hasEnded(token: JWTPayload): boolean;
};

/** `nowMs`: milliseconds since 1970, as tokens count. */
export function createEndedSessions(nowMs: () => number): EndedSessions {
  const endedAtMs = new LRUCache<string, number>({ max: MOST, ttl: KEPT_MS });
  return {
    end: ({ sid, sub }) => endedAtMs.set(sid === undefined ? `sub ${sub}` : `sid ${sid}`, nowMs()),
    hasEnded({ sid, sub, iat = 0 }) {
      if (typeof sid === 'string' && endedAtMs.has(`sid ${sid}`)) return true;
      const ended = endedAtMs.get(`sub ${sub}`);
      return ended !== undefined && iat * 1000 <= ended;
    },
  };
}
