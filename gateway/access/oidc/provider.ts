// The OpenID provider as the gateway sees it: its addresses, found by discovery, its public keys, and requests bounded in time and bytes.
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose';
import { ServiceError } from '../../../services/platform/errors.ts';
import type { Logger } from '../../../services/platform/logging/logger.ts';
import { toError } from '../../../services/platform/thrown.ts';
import { isProviderUrl } from '../../config.ts';

/** After a failure the provider is left alone for this long. */
const PAUSE_MS = 5000;
/** Addresses and keys are fetched again after this long, so that a key the provider has withdrawn ends here too. */
const MAX_AGE_MS = 600_000;

type ProviderAddresses = { authorization: string; token: string; keys: string };

export type OidcProvider = {
  /** @throws ServiceError UNAVAILABLE if the provider does not answer. */
  addresses(): Promise<ProviderAddresses>;
  /**
   * Finds the key of a token. For a person who is already in, the last known keys do if the provider does not answer;
   * for anybody else it throws ServiceError UNAVAILABLE.
   */
  keysFor(isAlreadyIn: boolean): JWTVerifyGetKey;
};

type RemoteKeys = ReturnType<typeof createRemoteJWKSet>;

/** Asks nothing of the provider until the first token comes. */
export function createOidcProvider(issuer: string, logger: Logger): OidcProvider {
  let known: ProviderAddresses | undefined;
  let discovery: Promise<ProviderAddresses> | undefined;
  let discoverAgainAtMs = Number.NEGATIVE_INFINITY;
  let remote: { address: string; keys: RemoteKeys } | undefined;
  let lastKeys: JSONWebKeySet | undefined;
  let askAgainAtMs = Number.NEGATIVE_INFINITY;

  const logFailure = (error: unknown) =>
    logger.error(
      { reason: toError(error).message },
      'the OpenID provider of OIDC_ISSUER does not answer as expected',
    );
  /** Runs a request to the provider; a failure is logged once a pause. */
  async function ask<T>(request: () => Promise<T>): Promise<T> {
    if (performance.now() < askAgainAtMs) throw new ServiceError('UNAVAILABLE');
    try {
      return await request();
    } catch (error) {
      if (performance.now() >= askAgainAtMs) {
        askAgainAtMs = performance.now() + PAUSE_MS;
        // The provider may have moved.
        discoverAgainAtMs = askAgainAtMs;
        logFailure(error);
      }
      throw new ServiceError('UNAVAILABLE', { cause: error });
    }
  }
  const discoverOnce = () => {
    discovery ??= discover(issuer).finally(() => {
      discovery = undefined;
    });
    return discovery;
  };
  /** Those known so far do while discovery fails; it has a pause of its own then, since keys may still be there. */
  async function addresses(): Promise<ProviderAddresses> {
    if (known !== undefined && performance.now() < discoverAgainAtMs) return known;
    try {
      known = await (known === undefined ? ask(discoverOnce) : discoverOnce());
      discoverAgainAtMs = performance.now() + MAX_AGE_MS;
    } catch (error) {
      if (known === undefined) throw error;
      if (performance.now() >= discoverAgainAtMs) {
        discoverAgainAtMs = performance.now() + PAUSE_MS;
        logFailure(error);
      }
    }
    return known;
  }
  async function currentKeys(): Promise<RemoteKeys> {
    const { keys: address } = await addresses();
    if (remote?.address === address) return remote.keys;
    lastKeys = remote?.keys.jwks() ?? lastKeys;
    const keys = createRemoteJWKSet(new URL(address), {
      cacheMaxAge: MAX_AGE_MS,
      [customFetch]: fetchFromProvider,
    });
    remote = { address, keys };
    return keys;
  }
  async function renewKeys(): Promise<void> {
    const { reload } = await currentKeys();
    await ask(reload);
  }
  return {
    addresses,
    keysFor: (isAlreadyIn) => async (header, token) => {
      const last = remote?.keys.jwks() ?? lastKeys;
      if (isAlreadyIn && last) {
        // Nobody who is in waits for the provider.
        if (!remote?.keys.fresh) void renewKeys().catch(() => undefined);
        return createLocalJWKSet(last)(header, token);
      }
      const keys = await currentKeys();
      if (!keys.fresh) await ask(keys.reload);
      // What fails from here on is about the token, whose key may be one that cannot be used: the provider is not paused for it.
      const find = () => createLocalJWKSet(keys.jwks() ?? { keys: [] })(header, token);
      return find().catch(async (error: unknown) => {
        if (!(error instanceof errors.JWKSNoMatchingKey) || keys.coolingDown) throw error;
        await ask(keys.reload);
        return find();
      });
    },
  };
}

/** OpenID Connect Discovery 1.0, section 4. */
async function discover(issuer: string): Promise<ProviderAddresses> {
  const response = await fetchFromProvider(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  if (!response.ok) throw new Error(`discovery answers ${response.status}`);
  const document: unknown = await response.json();
  const read = (name: string): string => {
    const value: unknown = Object(document)[name];
    if (typeof value !== 'string') throw new Error(`discovery lacks ${name}`);
    return value;
  };
  if (read('issuer') !== issuer) throw new Error('discovery names another issuer than OIDC_ISSUER');
  const found = {
    authorization: read('authorization_endpoint'),
    token: read('token_endpoint'),
    keys: read('jwks_uri'),
  };
  for (const address of Object.values(found)) {
    if (!isProviderUrl(address)) throw new Error('discovery names an address without https');
  }
  return found;
}

/** Of a request to the provider, which is never redirected. */
const TIMEOUT_MS = 5000;
/** Of an answer, decompressed. The keys of large providers take 20 KB. */
const MAX_BYTES = 256 * 1024;

/** @throws Error, or the body does, if the provider does not answer, answers too much, or redirects. */
export async function fetchFromProvider(
  address: string,
  { signal = providerTimeout(), ...init }: RequestInit = {},
): Promise<Response> {
  const response = await fetch(address, { ...init, redirect: 'error', signal });
  return new Response(response.body?.pipeThrough(atMostBytes(MAX_BYTES)) ?? null, response);
}

/** Aborts when a request that begins now has taken too long. */
export const providerTimeout = (): AbortSignal => AbortSignal.timeout(TIMEOUT_MS);

function atMostBytes(max: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes <= max) controller.enqueue(chunk);
      else controller.error(new Error(`the answer has more than ${max} bytes`));
    },
  });
}
