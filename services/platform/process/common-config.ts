// The environment variables that all services share: logging, shutdown, gRPC authentication.
import { readFileSync } from 'node:fs';
import type { EnvironmentReader } from './config.ts';
import { type DatabasePlace, readDatabasePlace } from './database-config.ts';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

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

export function readCommonConfig(reader: EnvironmentReader): CommonConfig {
  const shutdownTimeoutMs = reader.wholeNumber('SHUTDOWN_TIMEOUT_MS', 10_000, { min: 0, max: 600_000 });
  return {
    host: reader.text('HOST') ?? '127.0.0.1',
    logLevel: reader.oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
    shutdownTimeoutMs,
    drainMs: reader.wholeNumber('DRAIN_MS', 0, { min: 0, max: shutdownTimeoutMs }),
    trust: { serviceTokens: reader.secrets('SERVICE_TOKEN', 32), tls: readTls(reader) },
  };
}

/** The port of each gRPC service unless `name`_PORT says otherwise. */
export const GRPC_PORTS = { SCHEDULING: 50_051, ACCOUNTS: 50_052, REMINDERS: 50_053 } as const;
type GrpcService = keyof typeof GRPC_PORTS;

/** Where the services that a facade calls are reached: a gRPC target each. */
export type Peers = { schedulingTarget: string; accountsTarget: string };

export function readPeers(reader: EnvironmentReader): Peers {
  return {
    schedulingTarget: readTarget(reader, 'SCHEDULING'),
    accountsTarget: readTarget(reader, 'ACCOUNTS'),
  };
}

/** `name`_URL, else the loopback address with `name`_PORT. */
export function readTarget(reader: EnvironmentReader, name: GrpcService): string {
  return reader.text(`${name}_URL`) ?? `127.0.0.1:${reader.port(`${name}_PORT`, GRPC_PORTS[name])}`;
}

export type DatabaseServiceConfig = CommonConfig & DatabasePlace & { port: number };

/** What a gRPC service with a database of its own reads; `keeps` says what it keeps there. */
export function readDatabaseServiceConfig(
  reader: EnvironmentReader,
  name: GrpcService,
  keeps: string,
): DatabaseServiceConfig {
  const common = readCommonConfig(reader);
  requireTrustBeyondLoopback(reader, common);
  return {
    ...common,
    port: reader.port(`${name}_PORT`, GRPC_PORTS[name]),
    ...readDatabasePlace(reader, keeps),
  };
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

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/** Refuses an unauthenticated gRPC service on an address other than loopback. */
function requireTrustBeyondLoopback(reader: EnvironmentReader, { host, trust }: CommonConfig): void {
  if (isLoopback(host) || trust.serviceTokens.length > 0 || trust.tls !== undefined) return;
  reader.problem(
    `HOST is ${host}: beyond loopback, gRPC needs SERVICE_TOKEN (the same in every service) or GRPC_TLS_CERT, GRPC_TLS_KEY and GRPC_TLS_CA`,
  );
}
