// The scheduling service's environment.
import {
  type CommonConfig,
  readCommonConfig,
  requireTrustBeyondLoopback,
} from '../platform/process/common-config.ts';
import type { EnvironmentReader } from '../platform/process/config.ts';

export type SchedulingConfig = CommonConfig & { host: string; port: number; databaseUrl: string };

export function readSchedulingConfig(reader: EnvironmentReader): SchedulingConfig {
  const common = readCommonConfig(reader);
  const host = reader.textOr('HOST', '127.0.0.1');
  requireTrustBeyondLoopback(reader, host, common.trust);
  return {
    ...common,
    host,
    port: reader.port('SCHEDULING_PORT', 50_051),
    databaseUrl: reader.required(
      'DATABASE_URL',
      'the PostgreSQL to keep materials in, as postgres://user@host/name',
    ),
  };
}
