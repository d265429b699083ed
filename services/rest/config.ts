// The REST facade's environment.
import {
  type CommonConfig,
  type Peers,
  readCommonConfig,
  readPeers,
} from '../platform/process/common-config.ts';
import type { EnvironmentReader } from '../platform/process/config.ts';

export type RestConfig = CommonConfig &
  Peers & {
    host: string;
    port: number;
    /** undefined: each process limits writes by itself. */
    redisUrl: string | undefined;
    writeLimitPerMinute: number;
    /** Whether /docs and /openapi.json are served. */
    docs: boolean;
  };

export function readRestConfig(reader: EnvironmentReader): RestConfig {
  return {
    ...readCommonConfig(reader),
    host: reader.textOr('HOST', '127.0.0.1'),
    port: reader.port('REST_PORT', 8080),
    ...readPeers(reader),
    redisUrl: reader.text('REDIS_URL'),
    writeLimitPerMinute: reader.wholeNumber('WRITE_LIMIT_PER_MINUTE', 60, { min: 1, max: 100_000 }),
    docs: reader.oneOf('DOCS', ['on', 'off'], 'on') === 'on',
  };
}
