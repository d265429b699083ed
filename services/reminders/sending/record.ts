// Records outcomes: those of the same moment in one transaction, with what they mean for the address.
import { setTimeout as sleep } from 'node:timers/promises';
import { createBatcher } from '../../platform/concurrency/batcher.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { ChannelName, Outcome } from '../deliveries/delivery.ts';
import {
  deleteGone,
  forgetRefusals,
  type LeasedWork,
  lockRefusals,
  noteRefusals,
  writeOutcomes,
} from './leases-repository.ts';

/** Of `work`, the lease is read when the outcome is written: it can be renewed until then. */
type Recorded = { work: LeasedWork; outcome: Outcome; attempts: number };

const BATCH = 100;
const BATCHES_AT_ONCE = 2;
const RETRY_MS = 1000;
/** Less than a lease lasts: after that another process has the delivery. */
const TRIES = 30;

/** A function that stores an outcome, also when the database is away for a while; it logs what it could not store. */
export function createRecorder(options: {
  database: Database;
  now: () => Date;
  channel: ChannelName;
  metrics: Metrics;
  logger: Logger;
}): (recorded: Recorded) => Promise<void> {
  const { database, now, channel, metrics, logger } = options;
  const write = (batch: readonly Recorded[]) =>
    database.transaction(async (transaction) => {
      const time = now();
      const isSent = ({ outcome }: Recorded) => outcome.state === 'sent';
      const isRefused = ({ outcome }: Recorded) => outcome.state === 'failed' && outcome.cause === 'refused';
      const usersOf = (recorded: readonly Recorded[]) => recorded.map(({ work }) => work.userId);
      const locked =
        channel === 'email'
          ? await lockRefusals(transaction, {
              sent: usersOf(batch.filter(isSent)),
              refused: usersOf(batch.filter(isRefused)),
            })
          : new Set<string>();
      const outcomes = batch.map(({ work, ...ending }) => ({ ...keyOf(work), ...ending }));
      const written = new Set(await writeOutcomes(transaction, outcomes, time));
      const held = batch.filter(({ work }) => written.has(work.deliveryId));
      if (channel === 'email') {
        const relevant = held.filter(({ work }) => locked.has(work.userId));
        await noteRefusals(transaction, usersOf(relevant.filter(isRefused)), time);
        await forgetRefusals(transaction, usersOf(relevant.filter(isSent)));
      } else {
        const gone = held.filter(({ outcome }) => outcome.state === 'failed' && outcome.isGone === true);
        await deleteGone(
          transaction,
          gone.map(({ work }) => work),
        );
      }
      return { held, time };
    });
  const persist = async (batch: readonly Recorded[]) => {
    for (let tried = 1; ; tried += 1) {
      try {
        const { held, time } = await write(batch);
        for (const each of held) measure(metrics, channel, each, time);
        return;
      } catch (error) {
        if (tried === 1)
          logger.warn({ err: error, channel, deliveries: batch.length }, 'outcomes not stored yet');
        if (tried === TRIES) throw error;
        await sleep(RETRY_MS);
      }
    }
  };
  return createBatcher<Recorded, void>(
    (batch) => {
      const stored = persist(batch).catch((error: unknown) =>
        logger.error({ err: error, channel, deliveries: batch.length }, 'outcomes lost, to be sent again'),
      );
      return batch.map(() => stored);
    },
    { maxSize: BATCH, maxInFlight: BATCHES_AT_ONCE, fairnessKeyOf: ({ work }) => work.userId },
  );
}

const keyOf = ({ userId, deliveryId, lease }: LeasedWork) => ({ userId, deliveryId, lease });

function measure(metrics: Metrics, channel: ChannelName, { outcome, work }: Recorded, time: Date): void {
  const count = (ending: string, reason: string) =>
    metrics.count('srs_reminder_deliveries_total', { channel, outcome: ending, reason });
  if (outcome.state === 'sent') {
    count('sent', '');
    metrics.observe(
      'srs_reminder_lag_seconds',
      { channel },
      (time.getTime() - work.dueTime.getTime()) / 1000,
    );
  } else if (outcome.state === 'skipped') count('skipped', outcome.skipReason);
  else if (outcome.state === 'failed') count('failed', outcome.cause);
  else if (outcome.failure !== undefined) count('retried', '');
}
