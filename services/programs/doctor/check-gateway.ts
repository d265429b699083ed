// Who may use the gateway: GATEWAY_TOKENS, with distinct tokens and names, so that the audit log distinguishes people; and the OpenID
// provider, which must answer with what sign-in needs.
import { createOidcProvider } from '../../../gateway/access/oidc/provider.ts';
import { bad, type Check, ok, warning } from '../../platform/checks.ts';
import { counted } from '../../platform/process/command.ts';
import { oneLine } from '../../platform/thrown.ts';
import type { Settings } from './settings.ts';

export const tokensCheck: Check<Settings> = {
  name: 'gateway tokens',
  run({ gatewayTokens: tokens, gateway, isStart }) {
    if (gateway === undefined) return ok('GATEWAY is off');
    if (tokens === undefined && isStart) return ok('npm start will create one');
    if (tokens === undefined && gateway.oidc)
      return ok('GATEWAY_TOKENS is not set: people sign in at OIDC_ISSUER');
    if (tokens === undefined) {
      return warning(
        'GATEWAY_TOKENS is not set: the gateway will not start',
        'set it to NAME:ROLE:TOKEN, with a token from "openssl rand -hex 32"; without a gateway there is nothing to do',
      );
    }
    if (tokens.length === 0) return bad('none can be read', 'see the findings about the configuration');
    const repeated = <T>(values: readonly T[]) =>
      values.find((value, index) => values.indexOf(value) !== index);
    if (repeated(tokens.map(({ sha256 }) => sha256.toString('hex'))) !== undefined)
      return bad('two entries have the same token: only the first counts', 'give each entry its own token');
    const name = repeated(tokens.map((token) => token.name));
    if (name !== undefined)
      return warning(`two entries are named ${name}`, 'the audit log cannot distinguish them: rename one');
    const count = (role: string) => counted(tokens.filter((token) => token.role === role).length, role);
    return ok(`${count('operator')}, ${count('viewer')}`);
  },
};

/** Empty if the gateway has no OpenID provider. */
export const oidcChecks = ({ gateway }: Settings): Check[] => {
  const { oidc } = gateway ?? {};
  if (oidc === undefined) return [];
  return [
    {
      name: 'openid provider',
      async run() {
        try {
          await createOidcProvider(oidc.issuer).addresses();
          return ok(`people sign in at ${oidc.issuer}, with roles in the claim ${oidc.roleClaim}`);
        } catch (error) {
          const cause = error instanceof Error ? error.cause : undefined;
          return bad(
            oneLine(cause ?? error),
            'correct OIDC_ISSUER, or open the network path to the provider',
          );
        }
      },
    },
  ];
};
