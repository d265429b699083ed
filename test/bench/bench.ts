// What every row works with: the database server, Redis, the load generator, and a list of what to end.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../services/embedded-postgres/embedded-postgres.ts';
import type { Say } from '../../services/platform/process/terminal.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { createDatabases, type Databases, sweep } from './dataset/databases.ts';
import { type LoadGenerator, startLoadGenerator } from './load/load.ts';
import { CACHE } from './root.ts';

export type Bench = {
  quick: boolean;
  pace: Pace;
  databases: Databases;
  /** Another checkout, whose services are measured in turn with this one's, and databases with its migrations. */
  against: { folder: string; databases: Databases } | undefined;
  postgres: { pid: number; databaseUrl: string };
  redis: RedisServer;
  load: LoadGenerator;
  say: Say;
  profileFolder: string | undefined;
  /** `close` runs when the benchmark ends, however it ends; what was begun last ends first. */
  atEnd(close: () => Promise<unknown>): void;
  close(): Promise<void>;
};

/** Of a load: how often each system has its turn, and for how long. */
export type Pace = { rounds: number; warmUpMs: number; durationMs: number };

/** Every system keeps its pools open beside the others. */
const MAX_CONNECTIONS = 300;
const QUICK_PACE: Pace = { rounds: 3, warmUpMs: 1000, durationMs: 2000 };
const FULL_PACE: Pace = { rounds: 5, warmUpMs: 6000, durationMs: 5000 };

export async function openBench(options: {
  quick: boolean;
  pace?: Partial<Pace>;
  /** The folder of another checkout. */
  against?: string | undefined;
  say: Say;
  profileFolder: string | undefined;
}): Promise<Bench> {
  const closers: (() => Promise<unknown>)[] = [];
  const closeAll = async () => {
    for (let closer = closers.pop(); closer !== undefined; closer = closers.pop())
      await closer().catch((error: unknown) => process.stderr.write(`not ended: ${String(error)}\n`));
  };
  let closing: Promise<void> | undefined;
  // Once, whoever calls: nobody may leave before the last part has ended.
  const close = () => (closing ??= closeAll());
  const own = <T extends { stop(): Promise<unknown> }>(part: T): T => {
    closers.push(() => part.stop());
    return part;
  };
  try {
    mkdirSync(CACHE, { recursive: true });
    options.say('starting PostgreSQL and Redis');
    const postgres = own(
      await startEmbeddedPostgres({ directory: join(CACHE, 'postgres'), maxConnections: MAX_CONNECTIONS }),
    );
    const redis = own(await startRedis());
    const load = own(startLoadGenerator());
    const databases = createDatabases(postgres.databaseUrl, options.say);
    const against = options.against && {
      folder: options.against,
      databases: createDatabases(postgres.databaseUrl, options.say, options.against),
    };
    await sweep(postgres.databaseUrl, [databases, ...(against ? [against.databases] : [])]);
    const atEnd = (closer: () => Promise<unknown>) => void closers.push(closer);
    const pace = { ...(options.quick ? QUICK_PACE : FULL_PACE), ...options.pace };
    return {
      ...options,
      pace,
      databases,
      against: against || undefined,
      postgres,
      redis,
      load,
      atEnd,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
