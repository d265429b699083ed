// What signing in needs besides GraphQL: where to sign in, the exchange of a code, and the end of a session.
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';
import { LRUCache } from 'lru-cache';
import { atMost, atMostPerKey } from '../../../services/platform/concurrency.ts';
import { invalidField, ServiceError } from '../../../services/platform/errors.ts';
import { addressOf } from '../../../services/platform/http/server.ts';
import { fetchFromProvider, providerTimeout } from './provider.ts';
import type { SignIn } from './verifier.ts';

const BODY_BYTES = 16_384;
/**
 * Anybody can ask for an exchange. At once, and of one address; the others wait, but few of one address, and within the time that an
 * exchange may take.
 */
const MOST_EXCHANGES = 16;
const MOST_OF_ADDRESS = 2;
const MOST_WAITING_OF_ADDRESS = 4;
/** That an address may ask for in a minute: people behind one share it. */
const EXCHANGES_A_MINUTE = 30;
/** That the provider is asked for in a minute, of all addresses. */
const ALL_EXCHANGES_A_MINUTE = 300;
const MINUTE_MS = 60_000;
const MOST_ADDRESSES = 10_000;

/** `signIn`: undefined where people have gateway tokens only, which the dashboard asks for here. */
export function registerOidcRoutes(app: FastifyInstance, signIn: SignIn | undefined): void {
  app.get('/oidc/settings', async () => {
    if (signIn === undefined) return { provider: null };
    const { authorization } = await signIn.provider.addresses();
    return {
      provider: { authorizationEndpoint: authorization, clientId: signIn.clientId, scope: 'openid email' },
    };
  });
  if (signIn !== undefined) registerSignIn(app, signIn);
}

/** Registers /oidc/token for the dashboard and /oidc/logout for the provider. */
function registerSignIn(app: FastifyInstance, { clientId, provider, verifier }: SignIn): void {
  const limit = createExchangeLimit();

  // The page cannot ask the provider itself: its Content-Security-Policy allows no other origin.
  app.post('/oidc/token', { bodyLimit: BODY_BYTES }, async (request) => {
    const { body } = request;
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: clientId,
      code: readText(body, 'code'),
      code_verifier: readText(body, 'codeVerifier'),
      redirect_uri: readText(body, 'redirectUri'),
    });
    const signal = providerTimeout();
    const token = await limit(rateLimit.normalizeIP(addressOf(request), 64), signal, async () => {
      const { token: address } = await provider.addresses();
      return exchange(address, form, signal);
    });
    return { token, ...(await verifier.identify(token)) };
  });

  app.register(async (logout) => {
    logout.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: BODY_BYTES },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    );
    logout.post('/oidc/logout', async ({ body }, reply) => {
      await verifier.endSession(readText(body, 'logout_token'));
      return reply.code(200).send();
    });
  });
}

/**
 * The returned function runs an exchange for an address. @throws RATE_LIMITED beyond its share of a minute; UNAVAILABLE beyond that of
 * all, if too many of the address wait, or if `signal` aborts before its turn.
 */
function createExchangeLimit() {
  const ofMinute = new LRUCache<string, number>({ max: MOST_ADDRESSES, ttl: MINUTE_MS, noUpdateTTL: true });
  const limitAll = atMost(MOST_EXCHANGES);
  const limitAddress = atMostPerKey<string>(MOST_OF_ADDRESS);
  /** Exchanges of an address, those that run among them. */
  const waiting = new Map<string, number>();
  const count = (key: string) => {
    const asked = (ofMinute.get(key) ?? 0) + 1;
    ofMinute.set(key, asked);
    return asked;
  };
  return async <T>(address: string, signal: AbortSignal, exchange: () => Promise<T>): Promise<T> => {
    const retryAfterSeconds = Math.ceil(MINUTE_MS / 1000);
    if (count(address) > EXCHANGES_A_MINUTE)
      throw new ServiceError('RATE_LIMITED', {
        message: 'Too many sign-ins from this address. Try again in a minute.',
        retryAfterSeconds,
      });
    const open = (waiting.get(address) ?? 0) + 1;
    if (open > MOST_OF_ADDRESS + MOST_WAITING_OF_ADDRESS) throw busy();
    waiting.set(address, open);
    try {
      return await limitAddress(address, () =>
        limitAll(async () => {
          if (signal.aborted) throw busy();
          if (count('all') > ALL_EXCHANGES_A_MINUTE) throw busy();
          return exchange();
        }),
      );
    } finally {
      const left = (waiting.get(address) ?? 1) - 1;
      if (left === 0) waiting.delete(address);
      else waiting.set(address, left);
    }
  };
}

const busy = () =>
  new ServiceError('UNAVAILABLE', { cause: new Error('too many sign-ins are asked for at once') });

async function exchange(address: string, form: URLSearchParams, signal: AbortSignal): Promise<string> {
  const request = { method: 'POST', body: form, signal };
  const response = await fetchFromProvider(address, request).catch((cause: unknown) => {
    throw new ServiceError('UNAVAILABLE', { cause });
  });
  const answer: unknown = await response.json().catch(() => undefined);
  // Down behind a proxy, or only now.
  if (response.status >= 500)
    throw new ServiceError('UNAVAILABLE', { cause: new Error(`The provider answers ${response.status}`) });
  const token: unknown = Object(answer).id_token;
  if (response.ok && typeof token === 'string') return token;
  throw new ServiceError('UNAUTHORIZED', {
    message: 'The provider has not accepted the sign-in. Sign in again.',
  });
}

function readText(body: unknown, name: string): string {
  const value: unknown = Object(body)[name];
  if (typeof value === 'string' && value !== '') return value;
  throw invalidField(name, 'must be given once, as text.');
}
