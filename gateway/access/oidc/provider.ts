// The OpenID provider as the gateway sees it: its addresses, found by discovery, and its public keys.
import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import { ServiceError, unavailable } from '../../../services/platform/errors.ts';
import { oneLine } from '../../../services/platform/thrown.ts';
import { isProviderUrl } from '../../config.ts';

/** Keys are fetched again after this long, so that a key the provider has withdrawn ends here too. Longer than most tokens live. */
const KEYS_MAX_AGE_MS = 3_600_000;
const TIMEOUT_MS = 5000;
/** jose's codes for an answer that is no JSON, stalls, or is no set of public keys. */
const UNREADABLE_KEYS: ReadonlySet<string> = new Set([
  'ERR_JOSE_GENERIC',
  'ERR_JWKS_TIMEOUT',
  'ERR_JWKS_INVALID',
]);

type ProviderAddresses = { authorization: string; token: string; keys: string };

export type OidcProvider = {
  /** @throws ServiceError UNAVAILABLE if the provider does not answer. */
  addresses(): Promise<ProviderAddresses>;
  /** Finds the key of a token. @throws ServiceError UNAVAILABLE if keys are to be fetched, and the provider does not answer with any. */
  findKey: JWTVerifyGetKey;
};

/** Sends the provider no request until the first token arrives. */
export function createOidcProvider(issuer: string): OidcProvider {
  let discovery: Promise<ProviderAddresses> | undefined;
  let findKey: JWTVerifyGetKey | undefined;
  const addresses = () => {
    discovery ??= discover(issuer).catch((error: unknown) => {
      discovery = undefined;
      throw error;
    });
    return discovery;
  };
  return {
    addresses,
    async findKey(header, token) {
      const { keys } = await addresses();
      findKey ??= createRemoteJWKSet(new URL(keys), {
        cacheMaxAge: KEYS_MAX_AGE_MS,
        [customFetch]: fetchSuccess,
      });
      try {
        return await findKey(header, token);
      } catch (error) {
        if (error instanceof errors.JOSEError && UNREADABLE_KEYS.has(error.code))
          throw new ServiceError('UNAVAILABLE', { cause: error });
        throw error;
      }
    },
  };
}

/** OpenID Connect Discovery 1.0, section 4. */
async function discover(issuer: string): Promise<ProviderAddresses> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document: unknown = await (await fetchSuccess(address)).json().catch(() => undefined);
  const read = (name: string): string => {
    const value: unknown = Object(document)[name];
    if (typeof value !== 'string') throw unavailable(`discovery lacks ${name}`);
    return value;
  };
  if (read('issuer') !== issuer) throw unavailable('discovery names another issuer than OIDC_ISSUER');
  const found = {
    authorization: read('authorization_endpoint'),
    token: read('token_endpoint'),
    keys: read('jwks_uri'),
  };
  for (const address of Object.values(found)) {
    if (!isProviderUrl(address)) throw unavailable('discovery names an address without https');
  }
  return found;
}

/** Follows no redirect. @throws ServiceError UNAVAILABLE if the provider does not answer. */
export async function fetchFromProvider(address: string, init: RequestInit = {}): Promise<Response> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return fetch(address, { ...init, redirect: 'error', signal }).catch((error: unknown) => {
    // fetch reports every network error as "fetch failed", with the reason in its cause.
    throw unavailable(oneLine(error));
  });
}

async function fetchSuccess(address: string, init?: RequestInit): Promise<Response> {
  const response = await fetchFromProvider(address, init);
  if (!response.ok) throw unavailable(`${address} answers ${response.status}`);
  return response;
}
