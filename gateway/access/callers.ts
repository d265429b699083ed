// Identifies callers: by a gateway token, or by a token of the OpenID provider.
import { ServiceError } from '../../services/platform/errors.ts';
import { looksLikeJwt, type OidcVerifier } from './oidc/verifier.ts';
import { bearerOf, type GatewayToken, type Identity, identify } from './tokens.ts';

/**
 * `verifier`: undefined without OIDC_ISSUER.
 * The returned function throws ServiceError UNAUTHORIZED for anybody unknown, and what `verifier` throws.
 */
export function createCallerIdentifier(tokens: readonly GatewayToken[], verifier?: OidcVerifier) {
  return async (authorization: string | undefined): Promise<Identity> => {
    const sent = bearerOf(authorization);
    const identity = identify(tokens, sent);
    if (identity !== undefined) return identity;
    if (verifier !== undefined && looksLikeJwt(sent)) return verifier.identify(sent);
    throw new ServiceError('UNAUTHORIZED', {
      message: 'A gateway token is required. Send it as "Authorization: Bearer <token>".',
    });
  };
}
