// Assembles sign-in with OpenID Connect.
import type { Logger } from '../../../services/platform/logging/logger.ts';
import { createEndedSessions } from './ended-sessions.ts';
import { createOidcProvider, type OidcProvider } from './provider.ts';
import type { OidcSettings } from './settings.ts';
import { createOidcVerifier, type OidcVerifier } from './verifier.ts';

export type SignIn = { clientId: string; provider: OidcProvider; verifier: OidcVerifier };

export function createSignIn(settings: OidcSettings, logger: Logger): SignIn {
  const provider = createOidcProvider(settings.issuer, logger);
  const sessions = createEndedSessions();
  const verifier = createOidcVerifier(settings, provider, sessions);
  return { clientId: settings.audience, provider, verifier };
}
