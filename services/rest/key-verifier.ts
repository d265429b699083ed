// Tells whose key a request carries: remembered for a short while, and only while revocations are sure to be heard.
import { LRUCache } from 'lru-cache';
import type { VerifyApiKeyResponse } from '../../generated/accounts/v1/VerifyApiKeyResponse.ts';
import type { WatchRevocationsResponse } from '../../generated/accounts/v1/WatchRevocationsResponse.ts';
import { ServiceError } from '../platform/errors.ts';
import type { CallOptions } from '../platform/grpc-client.ts';
import { type Metrics, NO_METRICS } from '../platform/ops/metrics.ts';
import type { Clients } from './clients.ts';
import { type Principal, toPrincipal } from './wire.ts';

/** A key as it was sent, and its SHA-256 in base64, under which it is remembered. */
export type PresentedKey = { key: string; digest: string };

export type KeyVerifier = {
  /** @throws ServiceError UNAUTHORIZED for a key that is not valid, UNAVAILABLE where that cannot be told now. */
  verify(presented: PresentedKey, call: CallOptions): Promise<Principal>;
  /** Whether revocations are sure to be heard now; while not, no key is remembered. */
  hearsRevocations(): boolean;
  close(): void;
};

const MAX_KEYS = 10_000;
const MAX_AGE_MS = 30_000;
/** A key in use is verified again before it is forgotten: keys that came together must not all be unknown together. */
const RENEWAL_AGE_MS = 20_000;
const MAX_IN_FLIGHT = 16;
/** Renewals leave room for keys that are not known. */
const MAX_IN_FLIGHT_TO_RENEW = 8;
/**
 * A beat comes every 500 ms; without one for so long, revocations may have been missed too. Somewhat less than the second
 * within which a revoked key must be refused, for the time that the last beat was on its way.
 */
const SILENCE_MS = 950;
const RECONNECT_MS = 200;
/** Longer than any real key: what exceeds it is not worth a call. */
const MAX_KEY_CHARACTERS = 100;

/** Keys are remembered under their SHA-256, never as they are. */
export function createKeyVerifier(apiKeys: Clients['apiKeys'], metrics: Metrics = NO_METRICS): KeyVerifier {
  const note = (outcome: string) => metrics.count('srs_key_lookups_total', { outcome });
  const cache = new LRUCache<string, Principal>({ max: MAX_KEYS, ttl: MAX_AGE_MS });
  const inFlight = new Map<string, Promise<Principal>>();
  // Counts revocations and breaks: an answer asked for before the latest one must not be remembered.
  let epoch = 0;
  const watch = watchRevocations(apiKeys, {
    onBreak() {
      epoch += 1;
      cache.clear();
    },
    onEvent({ revokedApiKeyId, changedUserId }) {
      epoch += 1;
      for (const [digest, principal] of cache.entries()) {
        if (principal.apiKeyId === revokedApiKeyId || principal.userId === changedUserId)
          cache.delete(digest);
      }
    },
  });
  const ask = async (key: string, digest: string, call: CallOptions) => {
    const askedIn = epoch;
    const answer: VerifyApiKeyResponse = await apiKeys.verifyApiKey({ key }, call);
    const principal = toPrincipal(answer);
    if (askedIn === epoch && watch.isAlive()) cache.set(digest, principal);
    return principal;
  };
  // Twins share a call only within one epoch: a call begun before a revocation may still answer "valid".
  const callKeyOf = (digest: string) => `${epoch}:${digest}`;
  const begin = ({ key, digest }: PresentedKey, call: CallOptions) => {
    const callKey = callKeyOf(digest);
    const asked = ask(key, digest, call).finally(() => inFlight.delete(callKey));
    inFlight.set(callKey, asked);
    return asked;
  };
  /** What it learns is the next request's: one that fails leaves the key to be forgotten at its time. */
  const renewIfOld = (presented: PresentedKey, call: CallOptions) => {
    const { digest } = presented;
    if (cache.getRemainingTTL(digest) > MAX_AGE_MS - RENEWAL_AGE_MS) return;
    if (inFlight.has(callKeyOf(digest)) || inFlight.size >= MAX_IN_FLIGHT_TO_RENEW) return;
    note('renewal');
    begin(presented, call).catch((error: unknown) => {
      if (error instanceof ServiceError && error.reason === 'UNAUTHORIZED') cache.delete(digest);
    });
  };
  return {
    async verify(presented, call) {
      const { key, digest } = presented;
      if (key.length > MAX_KEY_CHARACTERS || !key.startsWith('rmk_live_')) {
        note('malformed');
        throw new ServiceError('UNAUTHORIZED');
      }
      const known = watch.isAlive() ? cache.get(digest) : undefined;
      if (known !== undefined) {
        note('hit');
        renewIfOld(presented, call);
        return known;
      }
      const running = inFlight.get(callKeyOf(digest));
      if (running !== undefined) {
        note('shared');
        return running;
      }
      if (inFlight.size >= MAX_IN_FLIGHT) {
        note('overloaded');
        throw new ServiceError('UNAVAILABLE', { retryAfterSeconds: 1 });
      }
      note('miss');
      return begin(presented, call);
    },
    hearsRevocations: watch.isAlive,
    close: watch.close,
  };
}

/** Holds the stream of revocations open; `onBreak` is called whenever events may have been missed. */
function watchRevocations(
  apiKeys: Clients['apiKeys'],
  { onBreak, onEvent }: { onBreak(): void; onEvent(event: WatchRevocationsResponse): void },
) {
  let lastBeatMs = Number.NEGATIVE_INFINITY;
  let closed = false;
  let silence: NodeJS.Timeout | undefined;
  let stream: ReturnType<Clients['apiKeys']['watchRevocations']> | undefined;
  const connect = () => {
    if (closed) return;
    const current = apiKeys.watchRevocations({}, { requestId: 'watch-revocations' });
    stream = current;
    let broken = false;
    const lose = () => {
      if (broken) return;
      broken = true;
      lastBeatMs = Number.NEGATIVE_INFINITY;
      clearTimeout(silence);
      onBreak();
      current.cancel();
      if (!closed) setTimeout(connect, RECONNECT_MS).unref();
    };
    const listenForSilence = () => {
      clearTimeout(silence);
      silence = setTimeout(lose, SILENCE_MS).unref();
    };
    listenForSilence();
    current.on('data', (event: WatchRevocationsResponse) => {
      if (broken) return;
      lastBeatMs = performance.now();
      listenForSilence();
      if (!event.heartbeat) onEvent(event);
    });
    current.on('error', lose);
    current.on('end', lose);
  };
  connect();
  return {
    // Told from the clock and not by the timer, which is late where this process is busy.
    isAlive: () => performance.now() - lastBeatMs < SILENCE_MS,
    close() {
      closed = true;
      clearTimeout(silence);
      stream?.cancel();
    },
  };
}
