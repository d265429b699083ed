// The GraphQL gateway's environment.
import {
  type CommonConfig,
  type Peers,
  readCommonConfig,
  readPeers,
  readTarget,
} from '../services/platform/process/common-config.ts';
import type { EnvironmentReader } from '../services/platform/process/config.ts';
import { type GatewayToken, readGatewayTokens } from './access/tokens.ts';

export type GatewayConfig = CommonConfig &
  Peers & {
    host: string;
    port: number;
    /** undefined: REMINDERS=off. */
    remindersTarget: string | undefined;
    /** Not empty if the environment is valid. */
    tokens: readonly GatewayToken[];
  };

export function readGatewayConfig(reader: EnvironmentReader): GatewayConfig {
  return {
    ...readCommonConfig(reader),
    host: reader.textOr('HOST', '127.0.0.1'),
    port: reader.port('GRAPHQL_PORT', 4000),
    ...readPeers(reader),
    remindersTarget:
      reader.oneOf('REMINDERS', ['on', 'off'], 'on') === 'on'
        ? readTarget(reader, 'REMINDERS', 50_053)
        : undefined,
    tokens: readGatewayTokens(reader),
  };
}
