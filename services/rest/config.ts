// The REST facade's environment.
import { type CommonConfig, readCommonConfig } from '../platform/process/common-config.ts';
import type { EnvironmentReader } from '../platform/process/config.ts';

export type RestConfig = CommonConfig & {
  host: string;
  port: number;
  schedulingTarget: string;
  accountsTarget: string;
  /** undefined: each process limits writes by itself. */
  redisUrl: string | undefined;
  writeLimitPerMinute: number;
  /** Whether /docs and /openapi.json are served. */
  docs: boolean;
};

export function readRestConfig(reader: EnvironmentReader): RestConfig {
  const targetOf = (name: string, portName: string, port: number) =>
    reader.text(name) ?? `127.0.0.1:${reader.port(portName, port)}`;
  return {
    ...readCommonConfig(reader),
    host: reader.textOr('HOST', '127.0.0.1'),
    port: reader.port('REST_PORT', 8080),
    schedulingTarget: targetOf('SCHEDULING_URL', 'SCHEDULING_PORT', 50_051),
    accountsTarget: targetOf('ACCOUNTS_URL', 'ACCOUNTS_PORT', 50_052),
    redisUrl: reader.text('REDIS_URL'),
    writeLimitPerMinute: reader.wholeNumber('WRITE_LIMIT_PER_MINUTE', 60, { min: 1, max: 100_000 }),
    docs: reader.oneOf('DOCS', ['on', 'off'], 'on') === 'on',
  };
}
