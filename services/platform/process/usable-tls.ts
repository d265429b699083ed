// Checks the files of mutual TLS before services start, so that a wrong one does not fail every call instead.
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { toError } from '../thrown.ts';
import type { GrpcTrust } from './common-config.ts';
import { ConfigError } from './config.ts';

/** @throws ConfigError that names each variable whose file does not hold what it should. */
export function requireUsableTls(tls: GrpcTrust['tls']): void {
  if (tls === undefined) return;
  const problems = [
    ...problemOf('GRPC_TLS_CERT and GRPC_TLS_KEY must be a PEM certificate and its unencrypted key', () =>
      createSecureContext({ cert: tls.certificate, key: tls.key }),
    ),
    ...problemOf(
      'GRPC_TLS_CA must be one or more PEM certificates',
      () => new X509Certificate(tls.authority),
    ),
  ];
  if (problems.length > 0) throw new ConfigError(problems);
}

function problemOf(what: string, read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    return [`${what}: ${toError(error).message}`];
  }
}
