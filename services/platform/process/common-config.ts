// The environment variables that several programs share: logging, shutdown, gRPC authentication, other services, the database.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { percentDecoded } from '../text.ts';
import { toError } from '../thrown.ts';
import { ConfigError, type EnvironmentReader } from './config.ts';
import type { VARIABLES } from './variables.ts';

export type LogLevel = (typeof VARIABLES.LOG_LEVEL.type.values)[number];

/** Authentication between gRPC services; both are optional on loopback. */
export type GrpcTrust = {
  /** The first is sent, all are accepted; empty: no token is required. */
  serviceTokens: readonly string[];
  /** PEM contents for mutual TLS. */
  tls: { certificate: Buffer; key: Buffer; authority: Buffer } | undefined;
};

export type CommonConfig = {
  /** The address to listen on. */
  host: string;
  logLevel: LogLevel;
  shutdownTimeoutMs: number;
  /** How long HTTP is still served after the signal to stop, while GET /ready answers 503; default 0. */
  drainMs?: number | undefined;
  trust: GrpcTrust;
};

/** The shutdown after the drain: up to 4 s for requests in progress, then time to close connections to other services. */
const AFTER_DRAIN_MS = 5000;

export function readCommonConfig(reader: EnvironmentReader): CommonConfig {
  const shutdownTimeoutMs = reader.wholeNumber('SHUTDOWN_TIMEOUT_MS');
  return {
    host: reader.text('HOST'),
    logLevel: reader.oneOf('LOG_LEVEL'),
    shutdownTimeoutMs,
    drainMs: reader.wholeNumber('DRAIN_MS', Math.max(0, shutdownTimeoutMs - AFTER_DRAIN_MS)),
    trust: { serviceTokens: reader.secrets('SERVICE_TOKEN'), tls: readTls(reader) },
  };
}

/** Kinds of ranges, as the package proxy-addr names them. */
const PROXY_KINDS = ['loopback', 'linklocal', 'uniquelocal'];

/** The proxies whose X-Forwarded-For is trusted; may be empty. */
export function readTrustedProxies(reader: EnvironmentReader): readonly string[] {
  const text = reader.text('TRUSTED_PROXIES') ?? '';
  const proxies = text === '' ? [] : text.split(',').map((proxy) => proxy.trim());
  for (const proxy of proxies) {
    const [address = '', bits = '1', ...rest] = proxy.split('/');
    const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
    // The package takes no range of all addresses.
    const isRange = rest.length === 0 && /^0*[1-9]\d{0,2}$/.test(bits) && Number(bits) <= maxBits;
    if (!PROXY_KINDS.includes(proxy) && !isRange)
      reader.problem(
        `TRUSTED_PROXIES must hold addresses or ranges such as 10.0.0.7 or 10.1.0.0/16, not "${proxy}"`,
      );
  }
  return proxies;
}

type GrpcService = 'SCHEDULING' | 'ACCOUNTS' | 'REMINDERS';

/** Where the services that a facade calls are reached: a gRPC target each. */
export type Peers = { schedulingTarget: string; accountsTarget: string };

export function readPeers(reader: EnvironmentReader): Peers {
  return {
    schedulingTarget: readTarget(reader, 'SCHEDULING'),
    accountsTarget: readTarget(reader, 'ACCOUNTS'),
  };
}

/** host:port, or a target with a scheme that gRPC knows. gRPC would treat any other text as a host name. */
const TARGET = /^([^\s:/]+:\d{1,5}|\[[\da-f:.]+(%\w+)?\]:\d{1,5}|(dns|ipv4|ipv6|unix):\S+)$/i;

/** `name`_URL, else the loopback address with `name`_PORT. */
export function readTarget(reader: EnvironmentReader, name: GrpcService): string {
  const target = reader.text(`${name}_URL`);
  if (target !== undefined && TARGET.test(target)) return target;
  if (target !== undefined)
    reader.problem(
      `${name}_URL must be host:port, or a list such as ipv4:10.0.0.1:50051,10.0.0.2:50051, not "${target}"`,
    );
  return `127.0.0.1:${reader.wholeNumber(`${name}_PORT`)}`;
}

export type DatabaseServiceConfig = CommonConfig & DatabasePlace & { port: number };

/** What a gRPC service with a database of its own reads. */
export function readDatabaseServiceConfig(
  reader: EnvironmentReader,
  name: GrpcService,
): DatabaseServiceConfig {
  const common = readCommonConfig(reader);
  requireTrustBeyondLoopback(reader, common);
  return {
    ...common,
    port: reader.wholeNumber(`${name}_PORT`),
    ...readDatabasePlace(reader),
  };
}

/** The URLs of a database. The second bypasses the pooler, if the first goes through one in transaction mode. */
export type DatabasePlace = {
  databaseUrl: string;
  databaseSessionUrl?: string | undefined;
};

export function readDatabasePlace(reader: EnvironmentReader): DatabasePlace {
  return {
    databaseUrl: readDatabaseUrl(reader),
    databaseSessionUrl: readUrl(reader, 'DATABASE_SESSION_URL'),
  };
}

/** DATABASE_SESSION_URL, else DATABASE_URL: for programs that need a session of PostgreSQL. */
export const readSessionUrl = (reader: EnvironmentReader): string =>
  readUrl(reader, 'DATABASE_SESSION_URL') ?? readDatabaseUrl(reader);

/** The variable that `readSessionUrl` reads. */
export const sessionVariable = (reader: EnvironmentReader) =>
  reader.isSet('DATABASE_SESSION_URL') ? 'DATABASE_SESSION_URL' : 'DATABASE_URL';

function readDatabaseUrl(reader: EnvironmentReader): string {
  reader.required('DATABASE_URL');
  return readUrl(reader, 'DATABASE_URL') ?? '';
}

/** pg takes a URL with a blank before it for a name. It may contain a password, so a problem does not repeat it. */
function readUrl(
  reader: EnvironmentReader,
  name: 'DATABASE_URL' | 'DATABASE_SESSION_URL',
): string | undefined {
  const url = reader.text(name)?.trim();
  if (url === undefined || url.startsWith('/')) return url;
  // pg takes a user without a host, as with a socket in the parameter host.
  const parsed = URL.parse(url.replace('@/', '@localhost/'));
  const isSocket = parsed?.protocol === 'socket:';
  const isServer =
    parsed !== null && /^(postgres|postgresql):$/.test(parsed.protocol) && !cutsPassword(parsed);
  // libpq takes several hosts, pg does not.
  if (!(isSocket || isServer) || parsed.host.includes(',') || !isDecodable(url))
    reader.problem(
      `${name} must be a URL of one host, such as postgres://user:password@host:5432/name, special characters in the password percent-encoded`,
    );
  for (const parameter of FILES_OF_URL) {
    const path = isServer && parsed.searchParams.get(parameter);
    if (path && !isReadable(path))
      reader.problem(`${name} names a file that cannot be read, in ${parameter}: ${path}`);
  }
  return url;
}

/** Parameters that name files, which pg reads for each connection. */
const FILES_OF_URL = ['sslrootcert', 'sslcert', 'sslkey'];

function isReadable(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Whether an unencoded /, ? or # has cut the password short: errors would show the rest of it as part of the path. */
export function cutsPassword({ pathname, search, hash }: URL): boolean {
  return `${pathname}${hash}`.includes('@') || /^\?[^=&]*@/.test(search);
}

/** Whether pg can decode the URL. In one with a space or an incomplete escape, pg encodes these first, so it always can. */
function isDecodable(url: string): boolean {
  return percentDecoded(url) !== undefined || / |%(?![\da-f]{2})/i.test(url);
}

function readTls(reader: EnvironmentReader): GrpcTrust['tls'] {
  const names = ['GRPC_TLS_CERT', 'GRPC_TLS_KEY', 'GRPC_TLS_CA'] as const;
  if (names.every((name) => reader.text(name) === undefined)) return undefined;
  const contentOf = (name: (typeof names)[number]): Buffer => {
    const path = reader.text(name);
    try {
      if (path !== undefined) return readFileSync(path);
      reader.problem(`${name} is not set: mutual TLS needs all of ${names.join(', ')}`);
    } catch {
      reader.problem(`${name} names a file that cannot be read: ${path}`);
    }
    return Buffer.alloc(0);
  };
  const [certificate, key, authority] = names;
  return { certificate: contentOf(certificate), key: contentOf(key), authority: contentOf(authority) };
}

/** @throws ConfigError that names each variable whose file does not hold what it should. */
export function requireUsableTls(tls: GrpcTrust['tls']): void {
  if (tls === undefined) return;
  const authorityProblem = problemOf(
    'GRPC_TLS_CA must be one or more PEM certificates',
    () => new X509Certificate(tls.authority),
  );
  const problems = [tlsKeyProblem(tls), authorityProblem].filter((problem) => problem !== undefined);
  if (problems.length > 0) throw new ConfigError(problems);
}

/** undefined for a certificate and its key. Asked at the start of a program, and by npm run doctor. */
export function tlsKeyProblem({ certificate, key }: NonNullable<GrpcTrust['tls']>): string | undefined {
  return problemOf('GRPC_TLS_CERT and GRPC_TLS_KEY must be a PEM certificate and its unencrypted key', () =>
    createSecureContext({ cert: certificate, key }),
  );
}

function problemOf(what: string, read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return `${what}: ${toError(error).message}`;
  }
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/** Refuses an unauthenticated gRPC service on an address other than loopback. */
function requireTrustBeyondLoopback(reader: EnvironmentReader, { host, trust }: CommonConfig): void {
  if (isLoopback(host) || trust.serviceTokens.length > 0 || trust.tls !== undefined) return;
  reader.problem(
    `HOST is ${host}: beyond loopback, gRPC needs SERVICE_TOKEN (the same in every service) or GRPC_TLS_CERT, GRPC_TLS_KEY and GRPC_TLS_CA`,
  );
}
