// Checks the OpenID provider of the gateway: it answers, and its discovery names what is needed.
import { createOidcProvider } from '../../../gateway/access/oidc/provider.ts';
import { createLogger } from '../../platform/logging/logger.ts';
import { oneLine } from '../../platform/thrown.ts';
import { checkNamed, type Finding } from './finding.ts';
import type { Settings } from './settings.ts';

export async function checkOidc({ oidc, gatewayOn }: Settings): Promise<Finding[]> {
  if (oidc === undefined || !gatewayOn) return [];
  const { ok, bad } = checkNamed('openid provider');
  const provider = createOidcProvider(oidc.issuer, createLogger('doctor', 'silent'));
  try {
    await provider.addresses();
    return [ok(`people sign in at ${oidc.issuer}, with roles in the claim ${oidc.roleClaim}`)];
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    return [bad(oneLine(cause ?? error), 'correct OIDC_ISSUER, or open the network path to the provider')];
  }
}
