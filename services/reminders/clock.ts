// The database's clock, on which all processes agree: by one machine's, a moment ahead would plan every reminder for then.
import type { Logger } from '../platform/logging/logger.ts';
import type { Queryable } from '../platform/postgres/database.ts';

export type DatabaseClock = {
  /** Before `follow`: the machine's. */
  now: () => Date;
  /** Reads the clock now and every 10 s. @returns a function that ends this. @throws ServiceError if the first time fails. */
  follow(db: Queryable): Promise<() => void>;
};

const READ_EVERY_MS = 10_000;
/** Of a slower answer it is not known when the clock was read. */
const PROMPT_MS = 1000;
/** Beyond it the log says that the machine's clock differs. */
const NOTED_MS = 60_000;

export function createDatabaseClock(logger: Logger): DatabaseClock {
  /** From a clock that nobody sets to the database's. */
  let aheadMs: number | undefined;
  let differs = false;
  const now = () => new Date(aheadMs === undefined ? Date.now() : performance.now() + aheadMs);
  const read = async (db: Queryable) => {
    const begun = performance.now();
    const [row] = await db.query<{ time: Date }>({
      name: 'read-clock',
      text: 'SELECT clock_timestamp() AS time',
      values: [],
    });
    const tookMs = performance.now() - begun;
    if (row === undefined || (aheadMs !== undefined && tookMs > PROMPT_MS)) return;
    aheadMs = row.time.getTime() - (begun + tookMs / 2);
    const differenceMs = Date.now() - now().getTime();
    if (Math.abs(differenceMs) > NOTED_MS === differs) return;
    differs = !differs;
    const differenceSeconds = Math.round(differenceMs / 1000);
    if (differs) logger.warn({ differenceSeconds }, "this machine's clock differs: the database's is used");
    else logger.info({ differenceSeconds }, "this machine's clock agrees with the database's again");
  };
  return {
    now,
    async follow(db) {
      await read(db);
      // While the database is away, the time goes on from the last answer.
      const timer = setInterval(() => void read(db).catch(() => {}), READ_EVERY_MS).unref();
      return () => clearInterval(timer);
    },
  };
}
