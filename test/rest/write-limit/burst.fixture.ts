// One of several processes that take from the same bucket as fast as they can, for a time given.
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '../../../services/platform/logging/logger.ts';
import { createWriteLimiter } from '../../../services/rest/write-limit/limiter.ts';

const [redisUrl = '', limit = '', windowMs = '', durationMs = ''] = process.argv.slice(2);
const limiter = createWriteLimiter({
  redisUrl,
  limit: Number(limit),
  windowMs: Number(windowMs),
  logger: createLogger('burst', 'silent'),
  now: Date.now,
});
// The first answer of a new connection can be late on a busy machine, and would be taken for an outage.
do await limiter.take(`first ${process.pid}`);
while (limiter.mode() !== 'redis' && (await sleep(20, true)));
let accepted = 0;
const end = Date.now() + Number(durationMs);
do {
  const decisions = await Promise.all(Array.from({ length: 25 }, () => limiter.take('user:key')));
  accepted += decisions.filter(({ allowed }) => allowed).length;
} while (Date.now() < end);
process.stdout.write(`${limiter.mode()} ${accepted}`);
limiter.close();
