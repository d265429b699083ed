// Which values of REDIS_URL lead to Redis, and to which servers.
import { expect, test } from 'vitest';
import { parseRedisUrls, reasonOf } from '../../../services/rest/write-limit/redis-client.ts';

const hrefs = (text: string) => parseRedisUrls(text).map(({ href }) => href);

test.each([
  ['redis://one:7001', ['redis://one:7001']],
  ['rediss://olga:p%40ss@one', ['rediss://olga:p%40ss@one']],
  [' redis://one:1 , redis://two:2,, ', ['redis://one:1', 'redis://two:2']],
])('%j names these servers', (text, servers) => {
  expect(hrefs(text)).toEqual(servers);
});

test.each([
  '',
  ' , ',
  'http://one',
  'xredis://one',
  'redis://one,http://two',
  'redis://one:port',
  'redis://one,two',
])('%j is refused, and not repeated', (text) => {
  expect(() => parseRedisUrls(text)).toThrow(
    new Error(
      'REDIS_URL must be redis://HOST:PORT or rediss://USER:PASSWORD@HOST:PORT, or several separated by commas',
    ),
  );
});

test('a fault is told by its message, else by its code, else by its name', () => {
  expect(reasonOf(new Error('WRONGPASS'))).toBe('WRONGPASS');
  expect(reasonOf(Object.assign(new Error(''), { code: 'ECONNREFUSED' }))).toBe('ECONNREFUSED');
  expect(reasonOf(new TypeError(''))).toBe('TypeError');
  expect(reasonOf('closed')).toBe('closed');
});
