// Repeats what the write limit decided while an answer of Redis was late on a busy machine, which it takes for an outage.
import { pino } from 'pino';
import type { Logger } from '../../services/platform/logging/logger.ts';

/** `logger` is for the write limiters. `undisturbed` calls `ready` and `work` again until none has logged an outage during `work`. */
export function watchOutages(): {
  logger: Logger;
  undisturbed<T>(ready: () => Promise<unknown>, work: (round: number) => Promise<T>): Promise<T>;
} {
  let outages = 0;
  const hear = (line: string) => {
    if (line.includes('Redis is unavailable')) outages += 1;
  };
  return {
    logger: pino({ level: 'warn' }, { write: hear }),
    async undisturbed(ready, work) {
      for (let round = 0; ; round += 1) {
        await ready();
        outages = 0;
        const result = await work(round);
        if (outages === 0) return result;
      }
    },
  };
}
