// The GraphQL gateway's environment.
import {
  type CommonConfig,
  type Peers,
  readCommonConfig,
  readPeers,
  readTarget,
  readTrustedProxies,
} from '../services/platform/process/common-config.ts';
import type { EnvironmentReader } from '../services/platform/process/config.ts';
import { type GatewayToken, readGatewayTokens } from './access/tokens.ts';

export type OidcSettings = {
  /** The issuer's URL exactly as its tokens name it, without a trailing slash that they lack. */
  issuer: string;
  /** What a token's `aud` must contain; also the client ID with which the dashboard signs in. */
  audience: string;
  /** The claim with a person's roles: its name, or a path of names joined by dots. */
  roleClaim: string;
};

export type GatewayConfig = CommonConfig &
  Peers & {
    port: number;
    /** The proxies whose X-Forwarded-For is trusted. Default: none. */
    trustedProxies?: readonly string[] | undefined;
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
    trustedProxies: readTrustedProxies(reader),
    ...readPeers(reader),
    remindersTarget: reader.isOn('REMINDERS') ? readTarget(reader, 'REMINDERS') : undefined,
    tokens: readGatewayTokens(reader, { required: oidc === undefined }),
    oidc,
  };
}

/** undefined: no OIDC_ISSUER, so people sign in with gateway tokens only. */
function readOidcSettings(reader: EnvironmentReader): OidcSettings | undefined {
  const issuer = reader.text('OIDC_ISSUER');
  if (issuer === undefined) {
    for (const name of ['OIDC_AUDIENCE', 'OIDC_ROLE_CLAIM'] as const) {
      if (reader.isSet(name)) reader.problem(`${name} is set without OIDC_ISSUER`);
    }
    return undefined;
  }
  if (!isProviderUrl(issuer)) {
    reader.problem('OIDC_ISSUER must be the https URL of an OpenID provider (http only on loopback)');
  }
  return {
    issuer,
    audience: reader.required('OIDC_AUDIENCE'),
    roleClaim: reader.text('OIDC_ROLE_CLAIM'),
  };
}

/** Whether tokens and keys may travel to this address: by https, or on this machine. */
export function isProviderUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return false;
  return (
    protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname))
  );
}
