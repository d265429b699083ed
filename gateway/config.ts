// The GraphQL gateway's environment.
import {
  type CommonConfig,
  type Peers,
  readCommonConfig,
  readPeers,
  readTarget,
} from '../services/platform/process/common-config.ts';
import type { EnvironmentReader } from '../services/platform/process/config.ts';
import { type OidcSettings, readOidcSettings } from './access/oidc/settings.ts';
import { type GatewayToken, readGatewayTokens } from './access/tokens.ts';

export type GatewayConfig = CommonConfig &
  Peers & {
    port: number;
    /** undefined: REMINDERS=off. */
    remindersTarget: string | undefined;
    /** Not empty if the environment is valid and names no OpenID provider. */
    tokens: readonly GatewayToken[];
    /** undefined: people sign in with gateway tokens only. */
    oidc: OidcSettings | undefined;
  };

export function readGatewayConfig(reader: EnvironmentReader): GatewayConfig {
  const oidc = readOidcSettings(reader);
  return {
    ...readCommonConfig(reader),
    port: reader.wholeNumber('GRAPHQL_PORT'),
    ...readPeers(reader),
    remindersTarget: reader.isOn('REMINDERS') ? readTarget(reader, 'REMINDERS') : undefined,
    tokens: readGatewayTokens(reader, { required: oidc === undefined }),
    oidc,
  };
}
