// What a process of the service does by itself: claim, send, follow time zones, forget, delete.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../platform/logging/logger.ts';
import type { Telemetry } from '../platform/observability/telemetry.ts';
import type { Channel, EmailAddress, PushAddress } from './channels/channel.ts';
import { claimDue } from './deliveries/claim.ts';
import { countWaiting } from './deliveries/claims-repository.ts';
import { sweepDeliveries } from './deliveries/sweep.ts';
import type { Dependencies } from './dependencies.ts';
import { type Loop, startLoop } from './loop.ts';
import { startLane } from './sending/lane.ts';
import { reachByEmail, reachByPush, reachNobody } from './sending/reach.ts';
import { createDeleteUnknown } from './user-data/delete-unknown.ts';
import { followTimeZones } from './users/follow-time-zones.ts';

/** Claims in a second: fewer, larger ones cost less for each reminder, and a claim of 75 takes milliseconds. */
const CLAIMS_PER_SECOND = 2;
/** Claimed in one transaction, at most. */
const CLAIMED_AT_ONCE = 200;
/** Two processes need 145 each for 99 % of 100,000 reminders of one minute within five. */
const REMINDERS_PER_SECOND = 150;
const LOOK_MS = 1000;
const FOLLOW_MS = 20_000;
const SWEEP_MS = 600_000;
/** With 500 users at a time, a million takes a day and a half. */
const DELETE_UNKNOWN_MS = 60_000;
const MAILS_AT_ONCE = 30;
const PUSHES_AT_ONCE = 128;
/** Where push is not set up, what is pending says so, and is given up in time. */
const NO_PUSH = {
  channel: { send: () => Promise.reject(new Error('push is not set up')), close: async () => {} },
  reach: reachNobody,
};

export type Channels = { email: Channel<EmailAddress>; push: Channel<PushAddress> | undefined };

/** Begins at once. Stopping resolves when all work in progress has ended. */
export function startWorker(
  dependencies: Dependencies & {
    channels: Channels;
    publicUrl: string;
    random: () => number;
    mailsAtOnce?: number;
    remindersPerSecond?: number;
    lookMs?: number;
    followMs?: number;
    telemetry: Telemetry;
    logger: Logger;
  },
): Pick<Loop, 'stop'> {
  const { channels, logger, telemetry, database, now } = dependencies;
  const { mailsAtOnce = MAILS_AT_ONCE, remindersPerSecond = REMINDERS_PER_SECOND } = dependencies;
  const { metrics } = telemetry;
  const { lookMs = LOOK_MS, followMs = FOLLOW_MS } = dependencies;
  const lane = { ...dependencies, lookMs, metrics };
  const { email, push } = channels;
  const repeat = (name: string, idleMs: number, work: () => Promise<boolean>) =>
    startLoop({ name, idleMs, work, logger });
  const deleteUnknown = createDeleteUnknown(dependencies);
  const lanes = {
    email: startLane({ ...lane, name: 'email', channel: email, reach: reachByEmail, parallel: mailsAtOnce }),
    push: startLane({
      ...{ ...lane, name: 'push', parallel: PUSHES_AT_ONCE },
      ...(push === undefined ? NO_PUSH : { channel: push, reach: reachByPush }),
    }),
  };
  const limit = Math.min(CLAIMED_AT_ONCE, Math.ceil(remindersPerSecond / CLAIMS_PER_SECOND));
  /** All that follows a claim costs far more than it does: at the pace of claims, a burst leaves room for people's requests. */
  const claim = async () => {
    const begun = performance.now();
    const { claimed, channels } = await claimDue(lane, limit);
    for (const channel of channels) lanes[channel].wake();
    if (claimed < limit) return false;
    const restMs = begun + (1000 * limit) / remindersPerSecond - performance.now();
    await sleep(Math.max(0, restMs));
    return true;
  };
  const loops = [
    ...Object.values(lanes),
    repeat('claim', lookMs, claim),
    repeat('follow time zones', followMs, () => followTimeZones(dependencies).then(() => false)),
    repeat('forget', SWEEP_MS, () => sweepDeliveries(dependencies)),
    repeat('delete unknown users', DELETE_UNKNOWN_MS, () => deleteUnknown().then(() => false)),
  ];
  metrics.gauge('srs_reminders_waiting', async () => {
    const { reminders, deliveries } = await countWaiting(database, now());
    return [
      { labels: { kind: 'reminder' }, value: reminders },
      { labels: { kind: 'delivery' }, value: deliveries },
    ];
  });
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}
