// Remembers which sessions the OpenID provider has ended (OpenID Connect Back-Channel Logout 1.0).
import type { JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';

/** Longer than any token should live; the provider's own limit is usually an hour. */
const KEPT_MS = 24 * 3_600_000;
const MOST = 100_000;

export type EndedSessions = {
  /**
   * Ends the session `sid`; if there is none, every session of the person `sub` that began by `iat`, in seconds since 1970. A
   * notice that comes late or again therefore leaves the sessions alone that began after it.
   */
  end(logout: { sid?: string; sub?: string; iat: number }): void;
  /** Whether the session of a token has ended since the token was issued. */
  hasEnded(token: JWTPayload): boolean;
};

export function createEndedSessions(): EndedSessions {
  /** When each was ended, in seconds since 1970. */
  const endedAt = new LRUCache<string, number>({ max: MOST, ttl: KEPT_MS });
  return {
    end({ sid, sub, iat }) {
      const key = sid === undefined ? `sub ${sub}` : `sid ${sid}`;
      endedAt.set(key, Math.max(iat, endedAt.get(key) ?? 0));
    },
    hasEnded({ sid, sub, iat = 0 }) {
      if (typeof sid === 'string' && endedAt.has(`sid ${sid}`)) return true;
      const ended = endedAt.get(`sub ${sub}`);
      return ended !== undefined && iat <= ended;
    },
  };
}
