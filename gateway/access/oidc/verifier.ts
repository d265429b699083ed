// Turns a person's token from the OpenID provider into an identity, name and role, until the provider ends the session.
import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../../services/platform/errors.ts';
import type { OidcSettings } from '../../config.ts';
import type { Identity, Role } from '../tokens.ts';
import { createOidcProvider, type OidcProvider } from './provider.ts';

/** Only signatures whose verifier holds no secret: neither `none` nor the HMAC family. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const CLOCK_TOLERANCE_SECONDS = 60;
/** How long an ended session is remembered: longer than any token should live. The provider's own limit is usually an hour. */
const KEPT_MS = 24 * 3_600_000;
const MOST_ENDED = 100_000;
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** One @, so that no address reads like the name of a gateway token or like `oidc:` and an ID, in which @ is encoded. */
const ADDRESS = /^(?=.{3,254}$)[!-?A-~]+@[!-?A-~]+$/;

export type OidcVerifier = {
  /** @throws ServiceError UNAUTHORIZED, INSUFFICIENT_SCOPE without a role, UNAVAILABLE if the provider is down. */
  identify(token: string): Promise<Identity>;
  /**
   * Ends the session that a logout token of the provider names (OpenID Connect Back-Channel Logout 1.0), or else all sessions of its person
   * that began by then: a token that comes late or again leaves later ones alone. @throws ServiceError INVALID_REQUEST, UNAVAILABLE.
   */
  endSession(logoutToken: string): Promise<void>;
};

/** Whether a bearer token has the form of a JWT; a gateway token has no dots in these places. */
export const looksLikeJwt = (token: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token);

function createOidcVerifier(
  { issuer, audience, roleClaim }: OidcSettings,
  provider: OidcProvider,
): OidcVerifier {
  /** When each session or person was signed out, in seconds since 1970. */
  const endedAt = new LRUCache<string, number>({ max: MOST_ENDED, ttl: KEPT_MS });
  const options: JWTVerifyOptions = {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
  };
  const claimsOf = async (
    token: string,
    requiredClaims: string[],
    refused: (error: unknown) => ServiceError,
  ): Promise<JWTPayload> => {
    try {
      return (await jwtVerify(token, provider.findKey, { ...options, requiredClaims })).payload;
    } catch (error) {
      throw error instanceof ServiceError ? error : refused(error);
    }
  };
  return {
    async identify(token) {
      const claims = await claimsOf(token, ['sub', 'iat', 'exp'], unauthorized);
      // A logout token has the same issuer, audience and key.
      if (claims.events !== undefined) throw unauthorized();
      const { sid, sub, iat = 0 } = claims;
      if (typeof sid === 'string' && endedAt.has(`sid ${sid}`)) throw unauthorized();
      if (iat <= (endedAt.get(`sub ${sub}`) ?? Number.NEGATIVE_INFINITY)) throw unauthorized();
      const role = roleOf(claims, roleClaim);
      if (role === undefined) {
        throw new ServiceError('INSUFFICIENT_SCOPE', {
          message: `Your account has no role here. Ask for viewer or operator in the claim ${roleClaim}.`,
        });
      }
      return { name: nameOf(claims), role };
    },
    async endSession(logoutToken) {
      const claims = await claimsOf(logoutToken, ['iat', 'jti', 'events'], invalidLogout);
      const { sid, sub, iat = 0, events, nonce } = claims;
      if (!Object.hasOwn(Object(events), LOGOUT_EVENT) || nonce !== undefined) throw invalidLogout();
      if (typeof sid !== 'string' && typeof sub !== 'string') throw invalidLogout();
      const key = typeof sid === 'string' ? `sid ${sid}` : `sub ${sub}`;
      endedAt.set(key, Math.max(iat, endedAt.get(key) ?? 0));
    },
  };
}

/** The e-mail address if the provider has verified it, otherwise the provider's own ID of the person. */
function nameOf({ email, email_verified, sub }: JWTPayload): string {
  if (email_verified === true && typeof email === 'string' && ADDRESS.test(email)) return email;
  return `oidc:${encodeURIComponent(sub ?? '').slice(0, 250)}`;
}

function roleOf(claims: JWTPayload, claim: string): Role | undefined {
  const value: unknown = Object.hasOwn(claims, claim)
    ? claims[claim]
    : claim.split('.').reduce<unknown>((part, name) => Object(part)[name], claims);
  const names: unknown[] = Array.isArray(value) ? value : String(value).split(' ');
  return (['operator', 'viewer'] as const).find((role) => names.includes(role));
}

function unauthorized(error?: unknown): ServiceError {
  const message =
    error instanceof errors.JWTExpired
      ? 'The sign-in has expired. Sign in again.'
      : 'The token is not accepted. Sign in again.';
  return new ServiceError('UNAUTHORIZED', { message });
}

function invalidLogout(): ServiceError {
  const message = 'logout_token must be a logout token of the provider in OIDC_ISSUER.';
  return new ServiceError('INVALID_REQUEST', { field: 'logout_token', message });
}

export type SignIn = { clientId: string; provider: OidcProvider; verifier: OidcVerifier };

/** Assembles sign-in with OpenID Connect. */
export function createSignIn(settings: OidcSettings): SignIn {
  const provider = createOidcProvider(settings.issuer);
  return { clientId: settings.audience, provider, verifier: createOidcVerifier(settings, provider) };
}
