// The scheduling service's environment.
import { type DatabaseServiceConfig, readDatabaseServiceConfig } from '../platform/process/common-config.ts';
import type { EnvironmentReader } from '../platform/process/config.ts';

export function readSchedulingConfig(reader: EnvironmentReader): DatabaseServiceConfig {
  return readDatabaseServiceConfig(reader, 'SCHEDULING');
}
