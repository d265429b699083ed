// What every row works with: the database server, Redis, the load generator, and a list of what to end.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../services/embedded-postgres/embedded-postgres.ts';
import type { Say } from '../../services/platform/process/narrator.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { createDatabases, type Databases } from './dataset/databases.ts';
import { type LoadGenerator, startLoadGenerator } from './load/load.ts';
import { CACHE } from './root.ts';

export type Bench = {
  quick: boolean;
  databases: Databases;
  postgres: { pid: number; databaseUrl: string };
  redis: RedisServer;
  load: LoadGenerator;
  say: Say;
  profileFolder: string | undefined;
  /** `close` runs when the benchmark ends, however it ends; what was begun last ends first. */
  atEnd(close: () => Promise<unknown>): void;
  close(): Promise<void>;
};

export async function openBench(options: {
  quick: boolean;
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
    const postgres = own(await startEmbeddedPostgres({ directory: join(CACHE, 'postgres') }));
    const redis = own(await startRedis());
    const load = own(startLoadGenerator());
    const databases = createDatabases(postgres.databaseUrl, options.say);
    await databases.sweep();
    const atEnd = (closer: () => Promise<unknown>) => void closers.push(closer);
    return { ...options, databases, postgres, redis, load, atEnd, close };
  } catch (error) {
    await close();
    throw error;
  }
}
