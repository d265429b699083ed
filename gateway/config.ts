// The GraphQL gateway's environment.
import { type CommonConfig, readCommonConfig } from '../services/platform/process/common-config.ts';
import type { EnvironmentReader } from '../services/platform/process/config.ts';
import { type GatewayToken, readGatewayTokens } from './access/tokens.ts';

export type GatewayConfig = CommonConfig & {
  host: string;
  port: number;
  schedulingTarget: string;
  accountsTarget: string;
  /** undefined: REMINDERS=off. */
  remindersTarget: string | undefined;
  /** Not empty if the environment is valid. */
  tokens: readonly GatewayToken[];
};

export function readGatewayConfig(reader: EnvironmentReader): GatewayConfig {
  const targetOf = (name: string, portName: string, port: number) =>
    reader.text(name) ?? `127.0.0.1:${reader.port(portName, port)}`;
  return {
    ...readCommonConfig(reader),
    host: reader.textOr('HOST', '127.0.0.1'),
    port: reader.port('GRAPHQL_PORT', 4000),
    schedulingTarget: targetOf('SCHEDULING_URL', 'SCHEDULING_PORT', 50_051),
    accountsTarget: targetOf('ACCOUNTS_URL', 'ACCOUNTS_PORT', 50_052),
    remindersTarget:
      reader.oneOf('REMINDERS', ['on', 'off'], 'on') === 'on'
        ? targetOf('REMINDERS_URL', 'REMINDERS_PORT', 50_053)
        : undefined,
    tokens: readGatewayTokens(reader),
  };
}
