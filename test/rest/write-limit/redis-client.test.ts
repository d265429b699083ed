// Which servers REDIS_URL names, and how a fault of the connection is told.
import { expect, test } from 'vitest';
import { createLogger } from '../../../services/platform/logging/logger.ts';
import { createWriteLimiter } from '../../../services/rest/write-limit/limiter.ts';
import { parseRedisUrls, reasonOf } from '../../../services/rest/write-limit/redis.ts';

test.each([
  ['redis://one:7001', ['redis://one:7001']],
  ['rediss://olga:p%40ss@one', ['rediss://olga:p%40ss@one']],
  [' redis://one:1 , redis://two:2,, ', ['redis://one:1', 'redis://two:2']],
])('%j names these servers', (text, servers) => {
  expect(hrefs(text)).toEqual(servers);
});

test.each([
  '',
  ' ',
  ',',
  ' , ',
  'http://one',
  'xredis://one',
  'redis://one,http://two',
  'redis://one:port',
  'redis://one,two',
  'http://user:geheim@127.0.0.1:1',
  'geheim',
  'redis://127.0.0.1:1,geheim',
  'redis//geheim',
  'redis://:50%geheim@one',
])('%j is refused, and not repeated', (redisUrl) => {
  expect(() => createWriteLimiter({ redisUrl, limit: 1, windowMs: 1000, logger, now: () => 0 })).toThrow(
    /^REDIS_URL must be redis:\/\/HOST:PORT or rediss:\/\/USER:PASSWORD@HOST:PORT, special characters in the password percent-encoded, or several separated by commas$/,
  );
});

test('a fault is told by its message, else by its code, else by its name', () => {
  expect(reasonOf(new Error('WRONGPASS'))).toBe('WRONGPASS');
  expect(reasonOf(Object.assign(new Error(''), { code: 'ECONNREFUSED' }))).toBe('ECONNREFUSED');
  expect(reasonOf(new TypeError(''))).toBe('TypeError');
  expect(reasonOf('closed')).toBe('closed');
});

const logger = createLogger('test', 'silent');

const hrefs = (text: string) => parseRedisUrls(text).map(({ href }) => href);
