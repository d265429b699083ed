// The dependencies of the handlers.
import type { Database } from '../platform/postgres/database.ts';

export type HandlerDependencies = {
  database: Database;
  now: () => Date;
  /** A new UUID of version 7 whose time is `time`. */
  newId: (time: Date) => string;
};
