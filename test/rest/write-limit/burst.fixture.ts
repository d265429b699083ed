// One of several processes that take from the same bucket as fast as they can, for a time given.
import { createLogger } from '../../../services/platform/logger.ts';
import { createWriteLimiter } from '../../../services/rest/write-limit/write-limiter.ts';

const [redisUrl = '', limit = '', windowMs = '', durationMs = ''] = process.argv.slice(2);
const limiter = createWriteLimiter({
  redisUrl,
  limit: Number(limit),
  windowMs: Number(windowMs),
  logger: createLogger('burst', 'silent'),
  now: Date.now,
});
await new Promise((resolve) => setTimeout(resolve, 200));
let accepted = 0;
const end = Date.now() + Number(durationMs);
do {
  const decisions = await Promise.all(Array.from({ length: 25 }, () => limiter.take('user:key')));
  accepted += decisions.filter(({ allowed }) => allowed).length;
} while (Date.now() < end);
process.stdout.write(`${limiter.mode()} ${accepted}`);
limiter.close();
