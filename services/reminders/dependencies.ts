// What the handlers and the loops are made of.
import type { Database } from '../platform/postgres/database.ts';
import type { Now } from '../platform/postgres/now.ts';
import type { Peers } from './peers.ts';

/** What time it is for a user: `now`, or a sandbox user's own time, once their reminders have followed their clock. */
export type NowOf = (userId: string) => Promise<Now>;

export type Dependencies = {
  database: Database;
  peers: Peers;
  nowOf: NowOf;
  /** Default: the database's clock, which each statement reads that needs the time. */
  now?: Now;
  /** A new UUID of version 7 whose time is `time`. */
  newId: (time: Date) => string;
  randomBytes: (size: number) => Buffer;
};
