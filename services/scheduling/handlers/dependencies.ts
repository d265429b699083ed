// What the handlers of this service are made of.
import type { Database } from '../../platform/postgres.ts';

export type HandlerDependencies = {
  database: Database;
  now: () => Date;
  /** A new UUID of version 7 whose time is `time`. */
  newId: (time: Date) => string;
};
