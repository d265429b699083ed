// What the handlers and the workers are made of.
import type { Database } from '../platform/postgres/database.ts';
import type { Peers } from './peers.ts';

export type Dependencies = {
  database: Database;
  peers: Peers;
  now: () => Date;
  /** A new UUID of version 7 whose time is `time`. */
  newId: (time: Date) => string;
  randomBytes: (size: number) => Buffer;
};
