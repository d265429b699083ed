// API keys: authenticates requests (401, 403), verifies keys with accounts, and caches the result briefly, only while the
// revocation stream works.
import { hash } from 'node:crypto';
import { BlockList, isIPv4 } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { VerifyApiKeyResponse } from '../../generated/accounts/v1/VerifyApiKeyResponse.ts';
import type { WatchRevocationsResponse } from '../../generated/accounts/v1/WatchRevocationsResponse.ts';
import { type KeyRefusal, ServiceError, unavailable } from '../platform/errors.ts';
import type { CallOptions } from '../platform/grpc/client.ts';
import { addressOf } from '../platform/http/server.ts';
import { epochMsOf } from '../platform/instants.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import { readTraceparent } from '../platform/observability/tracing.ts';
import type { Clients } from './clients.ts';
import type { MeResponse, Scope } from './schemas.ts';

/** The authenticated caller and the scopes of the key. */
type Principal = Omit<MeResponse, 'id'> & { userId: string; timeZone: string };

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null;
  }
  interface FastifyContextConfig {
    /** One of these scopes is enough; empty: any valid key. */
    scopes?: readonly Scope[];
    /** Whether the route counts against the write limit. */
    isWrite?: boolean;
  }
}

/** Runs before the body is read, so that anonymous requests are refused before any work. */
export function registerAuthentication(app: FastifyInstance, verifier: KeyVerifier): void {
  app.decorateRequest('principal', null);
  app.addHook('onRequest', async (request) => {
    const key = keyOf(request);
    if (key === undefined) throw refused('missing');
    const presented = { key, digest: hash('sha256', key, 'base64'), address: addressOf(request) };
    const principal = await verifier.verify(presented, callOf(request));
    request.principal = principal;
    const { scopes = [] } = request.routeOptions.config;
    if (scopes.length > 0 && !scopes.some((scope) => principal.scopes.includes(scope))) {
      throw new ServiceError('INSUFFICIENT_SCOPE', { requiredScopes: scopes });
    }
  });
}

function refused(cause: KeyRefusal['cause'], apiKeyId?: string): ServiceError {
  return new ServiceError('UNAUTHORIZED', { keyRefusal: { cause, apiKeyId } });
}

/** The authenticated caller. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal === null) throw new Error('the route is not behind authentication');
  return request.principal;
}

/** What calls made for the request send with them: its ID, its trace, and its key once that is known. */
export function callOf({ id, headers, principal }: FastifyRequest): CallOptions {
  const apiKeyId = principal?.apiKeyId;
  return { requestId: id, traceparent: readTraceparent(headers.traceparent), apiKeyId };
}

/** A Bearer token wins and never falls back to the key header, even if it is not an API key. */
function keyOf({ headers }: FastifyRequest): string | undefined {
  const bearer = /^bearer(?: +(.*))?$/i.exec(headers.authorization ?? '');
  if (bearer !== null) return bearer[1] ?? '';
  const key = headers['x-service-api-key'];
  return typeof key === 'string' ? key : undefined;
}

/** A key as it was sent, its SHA-256 in base64, which is the cache key, and the client's address. */
type PresentedKey = { key: string; digest: string; address: string };

/** What is cached of a key. It is checked again for each request: when it ends, and from where it may be used. */
type VerifiedKey = { principal: Principal; expireMs: number; allowed: BlockList | undefined };

export type KeyVerifier = ReturnType<typeof createKeyVerifier>;

const MAX_KEYS = 10_000;
const MAX_AGE_MS = 30_000;
const MAX_IN_FLIGHT = 16;
/**
 * Without a heartbeat (every 500 ms) for so long, revocations may be lost, too. Less than the second within which a revoked key
 * must be refused, to allow for the latency of the last heartbeat.
 */
const SILENCE_MS = 950;
/**
 * The timer is split, so that after a blocked event loop the process reads waiting heartbeats before it sees a silence.
 */
const SILENCE_CHECKS = 10;
const RECONNECT_MS = 200;
/** Longer than any valid key; a longer one is refused without a call. */
const MAX_KEY_CHARACTERS = 100;

/**
 * The cache stores SHA-256 hashes, never the keys themselves. `now`: Unix milliseconds.
 */
export function createKeyVerifier({
  apiKeys,
  metrics,
  now,
}: {
  apiKeys: Clients['apiKeys'];
  metrics: Metrics;
  now: () => number;
}) {
  const countLookup = (outcome: string) => metrics.count('srs_key_lookups_total', { outcome });
  // Deletes by timer what has expired: otherwise a profile would stay until its key is used again.
  const cache = new LRUCache<string, VerifiedKey>({ max: MAX_KEYS, ttl: MAX_AGE_MS, ttlAutopurge: true });
  const inFlight = new Map<string, Promise<VerifiedKey>>();
  // Counts revocations and gaps: a result requested before the latest of them must not be cached.
  let epoch = 0;
  const watch = watchRevocations(apiKeys, {
    onGap() {
      epoch += 1;
      cache.clear();
    },
    onEvent({ revokedApiKeyId, changedUserId }) {
      epoch += 1;
      for (const [digest, { principal }] of cache.entries()) {
        if (principal.apiKeyId === revokedApiKeyId || principal.userId === changedUserId)
          cache.delete(digest);
      }
    },
  });
  const ask = async (key: string, digest: string, call: CallOptions) => {
    const askedIn = epoch;
    const verified = toVerifiedKey(await apiKeys.verifyApiKey({ key }, call));
    if (askedIn === epoch && watch.isAlive()) cache.set(digest, verified);
    return verified;
  };
  const find = async ({ key, digest }: PresentedKey, call: CallOptions) => {
    if (key.length > MAX_KEY_CHARACTERS || !key.startsWith('rmk_live_')) {
      countLookup('malformed');
      throw refused('mistyped');
    }
    const known = watch.isAlive() ? cache.get(digest) : undefined;
    if (known !== undefined) {
      countLookup('hit');
      return known;
    }
    // Concurrent requests with one key share a call only within an epoch: an earlier call may still return "valid".
    const callKey = `${epoch}:${digest}`;
    const running = inFlight.get(callKey);
    if (running !== undefined) {
      countLookup('shared');
      return running;
    }
    if (inFlight.size >= MAX_IN_FLIGHT) {
      countLookup('overloaded');
      throw unavailable('too many keys are being verified');
    }
    countLookup('miss');
    const asked = ask(key, digest, call).finally(() => inFlight.delete(callKey));
    inFlight.set(callKey, asked);
    return asked;
  };
  return {
    /** @throws ServiceError UNAUTHORIZED for a key that is invalid now or from there, UNAVAILABLE if it cannot be verified now. */
    async verify(presented: PresentedKey, call: CallOptions) {
      const { principal, expireMs, allowed } = await find(presented, call);
      if (now() >= expireMs) {
        // So that accounts is asked next time, which counts the refusals of an ended key.
        cache.delete(presented.digest);
        throw refused('expired', principal.apiKeyId);
      }
      if (allowed !== undefined && !isIn(allowed, presented.address))
        throw refused('address', principal.apiKeyId);
      return principal;
    },
    /** Whether the revocation stream works; if not, no key is cached. */
    isStreamAlive: watch.isAlive,
    close: watch.close,
  };
}

/** Keeps the revocation stream open; calls `onGap` where it ends and where it begins: between the two, events are lost. */
function watchRevocations(
  apiKeys: Clients['apiKeys'],
  { onGap, onEvent }: { onGap(): void; onEvent(event: WatchRevocationsResponse): void },
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
    let quietChecks = 0;
    const lose = () => {
      if (broken) return;
      broken = true;
      lastBeatMs = Number.NEGATIVE_INFINITY;
      clearInterval(silence);
      onGap();
      current.cancel();
      if (!closed) setTimeout(connect, RECONNECT_MS).unref();
    };
    silence = setInterval(() => {
      quietChecks += 1;
      if (quietChecks > SILENCE_CHECKS) lose();
    }, SILENCE_MS / SILENCE_CHECKS).unref();
    current.on('data', (event: WatchRevocationsResponse) => {
      if (broken) return;
      if (lastBeatMs === Number.NEGATIVE_INFINITY) onGap();
      lastBeatMs = performance.now();
      quietChecks = 0;
      if (!event.heartbeat) onEvent(event);
    });
    current.on('error', lose);
    current.on('end', lose);
  };
  connect();
  return {
    // Compares clock readings, since the timer fires late in a busy process.
    isAlive: () => performance.now() - lastBeatMs < SILENCE_MS,
    close() {
      closed = true;
      clearInterval(silence);
      stream?.cancel();
    },
  };
}

function toVerifiedKey({ user, apiKey }: VerifyApiKeyResponse): VerifiedKey {
  if (user === null || apiKey === null)
    throw new Error('accounts verified a key but returned no user or key');
  const principal = {
    userId: user.userId,
    email: user.email,
    firstName: user.firstName ?? null,
    lastName: user.lastName ?? null,
    plan: user.plan === 'PLAN_PREMIUM' ? ('premium' as const) : ('free' as const),
    timeZone: user.timeZone,
    apiKeyId: apiKey.apiKeyId,
    // accounts returns only the six scopes.
    scopes: apiKey.scopes as Scope[],
  };
  const { expireTime, allowedAddresses } = apiKey;
  return {
    principal,
    expireMs: expireTime === null ? Number.POSITIVE_INFINITY : epochMsOf(expireTime, 'expire_time'),
    allowed: allowedAddresses.length === 0 ? undefined : toBlockList(allowedAddresses),
  };
}

/** `ranges`: in CIDR notation. */
function toBlockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return list;
}

/** An IPv4 address that comes in IPv6 notation matches ranges of IPv4, too. */
const isIn = (list: BlockList, address: string) => list.check(address, familyOf(address));

const familyOf = (address: string) => (isIPv4(address) ? 'ipv4' : 'ipv6');
