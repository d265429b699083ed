// The background work of a process: claiming and sending, following time zones and test clocks, deleting old and orphaned data.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../platform/logging/logger.ts';
import type { Telemetry } from '../platform/observability/telemetry.ts';
import type { Sending } from './channels/channel.ts';
import { CHANNEL_NAMES, CHANNELS, type Channels } from './channels/registry.ts';
import { claimDue } from './deliveries/claim.ts';
import { startSending } from './deliveries/send.ts';
import { countWaiting, deleteOldDeliveries } from './deliveries/sql.ts';
import type { Dependencies } from './dependencies.ts';
import { startLoop } from './loop.ts';
import { createDeleteUnknown } from './users/delete-user-data.ts';
import { createFollowTestClocks } from './users/follow-test-clocks.ts';
import { followTimeZones } from './users/follow-time-zones.ts';

/** Claims in a second: fewer, larger ones cost less for each reminder, and a claim of 75 takes milliseconds. */
const CLAIMS_PER_SECOND = 2;
/** Claimed in one transaction, at most. */
const CLAIMED_AT_ONCE = 200;
const LOOK_MS = 1000;
const FOLLOW_MS = 20_000;
/** Moving a test clock is followed at once (FollowTestClock); this finds reminders that come due as the clock runs on. */
const LOOK_AT_TEST_CLOCKS_MS = 5000;
const SWEEP_MS = 600_000;
/** With 99 users at a time, a million takes a week. */
const DELETE_UNKNOWN_MS = 60_000;
/** Soon again: another process may have the channel set up. */
const NOT_SET_UP_MS = 60_000;
/** Outcomes that alerts watch. They start at 0, since Prometheus does not see an increase when a counter first appears. */
const WATCHED_OUTCOMES = [
  { outcome: 'sent', reason: '' },
  { outcome: 'retried', reason: '' },
  { outcome: 'retried', reason: 'refuses us' },
  { outcome: 'failed', reason: 'refused' },
  { outcome: 'failed', reason: 'gave up' },
];

/** Begins at once. Stopping resolves when all work in progress has ended. */
export function startLoops(
  dependencies: Dependencies & {
    channels: Channels;
    publicUrl: string;
    followTestClock: (userId: string) => Promise<Date>;
    random: () => number;
    remindersPerSecond: number;
    lookMs?: number;
    followMs?: number;
    telemetry: Telemetry;
    logger: Logger;
  },
) {
  const { channels, logger, database, now, remindersPerSecond } = dependencies;
  const { metrics } = dependencies.telemetry;
  const { lookMs = LOOK_MS, followMs = FOLLOW_MS } = dependencies;
  const working = { ...dependencies, lookMs, metrics };
  const repeat = (name: string, idleMs: number, work: () => Promise<unknown>) =>
    startLoop({ name, idleMs, work, logger });
  const senders = CHANNEL_NAMES.map((name) =>
    startSending({ ...working, name, channel: channels[name] ?? notSetUp(CHANNELS[name].needs) }),
  );
  const limit = Math.min(CLAIMED_AT_ONCE, Math.ceil(remindersPerSecond / CLAIMS_PER_SECOND));
  /** Limits claims to `remindersPerSecond`: sending costs far more than claiming, and a burst must leave CPU for requests. */
  const claim = async () => {
    const begun = performance.now();
    const claimed = await claimDue(working, limit);
    if (claimed > 0) for (const sender of senders) sender.wake();
    if (claimed < limit) return false;
    const restMs = begun + (1000 * limit) / remindersPerSecond - performance.now();
    await sleep(Math.max(0, restMs));
    return true;
  };
  const loops = [
    ...senders,
    repeat('claim', lookMs, claim),
    repeat('follow time zones', followMs, () => followTimeZones(dependencies)),
    repeat(
      'follow test clocks',
      Math.min(LOOK_AT_TEST_CLOCKS_MS, followMs),
      createFollowTestClocks(dependencies),
    ),
    repeat('forget', SWEEP_MS, () => deleteOldDeliveries(database, now)),
    repeat('delete unknown users', DELETE_UNKNOWN_MS, createDeleteUnknown(dependencies)),
  ];
  metrics.gauge('srs_reminders_waiting', async () => {
    const { reminders, deliveries } = await countWaiting(database, now);
    return [
      { labels: { kind: 'reminder' }, value: reminders },
      { labels: { kind: 'delivery' }, value: deliveries },
    ];
  });
  for (const channel of CHANNEL_NAMES)
    for (const ending of WATCHED_OUTCOMES)
      metrics.count('srs_reminder_deliveries_total', { channel, ...ending }, 0);
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}

/** Stands in for a channel that is not set up: deliveries are retried with that reason, and fail after 2 h. */
function notSetUp(needs: string): Sending {
  const reason = `The channel ${needs}`;
  return {
    parallel: 1,
    send: async () => ({ result: 'retry', reason, retryAfterMs: NOT_SET_UP_MS }),
  };
}
