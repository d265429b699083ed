// Records outcomes: those of nearly the same moment in one transaction, with what they mean for the address.
import { setTimeout as sleep } from 'node:timers/promises';
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

/** So long outcomes wait for others: fewer transactions take less from reviews. */
const GATHER_MS = 25;
const BATCH = 100;
const RETRY_MS = 1000;
/** Less than a lease lasts: after that another process has the delivery. */
const TRIES = 30;

/**
 * A function that stores an outcome, also when the database is away for a while; it logs what it could not store. `parallel`: messages
 * sent at once, so when as many outcomes wait, no other will come.
 */
export function createRecorder(options: {
  database: Database;
  now: () => Date;
  channel: ChannelName;
  parallel: number;
  metrics: Metrics;
  logger: Logger;
}): (recorded: Recorded) => Promise<void> {
  const { database, now, channel, parallel, metrics, logger } = options;
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
        // In this order, a message that was taken ends the row, wherever in the batch it stands.
        await forgetRefusals(transaction, usersOf(relevant.filter(isSent)));
        await noteRefusals(transaction, usersOf(relevant.filter(isRefused)), time);
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
  let waiting: { recorded: Recorded; resolve: () => void }[] = [];
  const flush = async () => {
    const batch = waiting;
    waiting = [];
    await persist(batch.map(({ recorded }) => recorded)).catch((error: unknown) =>
      logger.error({ err: error, channel, deliveries: batch.length }, 'outcomes lost, to be sent again'),
    );
    for (const { resolve } of batch) resolve();
  };
  let timer: NodeJS.Timeout | undefined;
  return (recorded) =>
    new Promise((resolve) => {
      waiting.push({ recorded, resolve });
      if (waiting.length === 1) timer = setTimeout(flush, GATHER_MS);
      if (waiting.length < Math.min(parallel, BATCH)) return;
      clearTimeout(timer);
      void flush();
    });
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
