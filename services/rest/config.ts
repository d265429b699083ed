// The REST facade's environment.
import { readCommonConfig, readPeers, readTrustedProxies } from '../platform/process/common-config.ts';
import type { EnvironmentReader } from '../platform/process/config.ts';
import { toError } from '../platform/thrown.ts';
import { parseRedisUrls } from './write-limit/redis.ts';

export type RestConfig = ReturnType<typeof readRestConfig>;

export function readRestConfig(reader: EnvironmentReader) {
  return {
    ...readCommonConfig(reader),
    port: reader.wholeNumber('REST_PORT'),
    trustedProxies: readTrustedProxies(reader),
    ...readPeers(reader),
    /** undefined: each process limits writes by itself. */
    redisUrl: readRedisUrl(reader),
    writeLimitPerMinute: reader.wholeNumber('WRITE_LIMIT_PER_MINUTE'),
    /** Whether /docs and /openapi.json are served. */
    docs: reader.isOn('DOCS'),
    /** Origins whose pages may call the API. */
    corsOrigins: readOrigins(reader),
  };
}

function readRedisUrl(reader: EnvironmentReader): string | undefined {
  const text = reader.text('REDIS_URL');
  try {
    if (text !== undefined) parseRedisUrls(text);
  } catch (error) {
    reader.problem(toError(error).message);
  }
  return text;
}

function readOrigins(reader: EnvironmentReader): ReadonlySet<string> {
  const origins = (reader.text('CORS_ORIGINS') ?? '')
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
  for (const origin of origins) {
    if (!isOrigin(origin))
      reader.problem(
        `CORS_ORIGINS must hold origins like https://app.example.com, separated by commas, not "${origin}"`,
      );
  }
  return new Set(origins);
}

/** Of the pages of an app in a web view, as Capacitor, Ionic and Tauri name them, and of a browser extension. */
const APP_ORIGIN = /^([a-z][a-z\d+.-]*:\/\/localhost|chrome-extension:\/\/[a-p]{32})$/;

/** As browsers send it: scheme, host and, unless it is the scheme's own, port; lower case, without a path or a wildcard. */
function isOrigin(text: string): boolean {
  if (!/^https?:/.test(text)) return APP_ORIGIN.test(text);
  return !text.includes('*') && URL.parse(text)?.origin === text;
}
