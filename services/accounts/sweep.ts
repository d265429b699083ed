// Forgets events of users after 90 days.
import type { Logger } from '../platform/logging/logger.ts';
import type { Telemetry } from '../platform/observability/telemetry.ts';
import type { Database } from '../platform/postgres/database.ts';
import { deleteOldUserEvents } from './repositories/user-events-repository.ts';
import { EVENT_LIFETIME_MS } from './user-event.ts';

const SWEEP_MS = 3_600_000;
/** Events of a batch, so that no statement holds its locks for long. */
const AT_A_TIME = 1000;

/** Deletes old events at start and each hour. @returns a function that stops it. */
export function sweepUserEvents(
  database: Database,
  { now, logger, telemetry }: { now: () => Date; logger: Logger; telemetry: Telemetry },
): () => void {
  let doneTime = performance.now();
  let isStopped = false;
  const sweep = async () => {
    try {
      const before = new Date(now().getTime() - EVENT_LIFETIME_MS);
      while (!isStopped && (await deleteOldUserEvents(database, before, AT_A_TIME)) === AT_A_TIME);
      doneTime = performance.now();
    } catch (error) {
      if (!isStopped) logger.warn({ err: error }, 'could not delete old events of users');
    }
  };
  telemetry.metrics.gauge('srs_schedule_lag_seconds', () => {
    const lateMs = performance.now() - doneTime - SWEEP_MS;
    return [{ labels: { task: 'erase-user-events' }, value: Math.max(0, lateMs) / 1000 }];
  });
  void sweep();
  const timer = setInterval(() => void sweep(), SWEEP_MS).unref();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
