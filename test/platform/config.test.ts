import { expect, test } from 'vitest';
import { readAccountsConfig } from '../../services/accounts/config.ts';
import { ConfigError, readEnvironment } from '../../services/platform/config.ts';
import { readRestConfig } from '../../services/rest/config.ts';

function problemsOf(read: () => unknown): readonly string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test('every bad variable is reported at once, and no secret is repeated', () => {
  const environment = {
    HOST: '0.0.0.0',
    ACCOUNTS_PORT: '99999',
    LOG_LEVEL: 'loud',
    KEY_PEPPER: '1:short',
    KEY_CREATION_LIMIT_PER_HOUR: '1.5',
  };
  expect(problemsOf(() => readEnvironment(environment, readAccountsConfig))).toEqual([
    'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud"',
    'HOST is 0.0.0.0: beyond loopback, gRPC needs SERVICE_TOKEN (the same in every service) or GRPC_TLS_CERT, GRPC_TLS_KEY and GRPC_TLS_CA',
    'ACCOUNTS_PORT must be a whole number from 0 to 65535, not "99999"',
    'DATABASE_URL is not set: the PostgreSQL to keep users in, as postgres://user@host/name',
    'KEY_PEPPER must be VERSION:SECRET entries, each secret at least 32 characters long',
    'KEY_CREATION_LIMIT_PER_HOUR must be a whole number from 1 to 1000000, not "1.5"',
  ]);
});

test('an empty environment gives the documented defaults', () => {
  expect(readEnvironment({}, readRestConfig)).toEqual({
    logLevel: 'info',
    shutdownTimeoutMs: 10_000,
    trust: { serviceTokens: [], tls: undefined },
    host: '127.0.0.1',
    port: 8080,
    schedulingTarget: '127.0.0.1:50051',
    accountsTarget: '127.0.0.1:50052',
    redisUrl: undefined,
    writeLimitPerMinute: 60,
    docs: true,
  });
});
