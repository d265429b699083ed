// What a process of the service does by itself: claim, send, follow time zones, forget, delete.
import type { Logger } from '../platform/logging/logger.ts';
import type { Telemetry } from '../platform/observability/telemetry.ts';
import type { Channel, EmailAddress, PushAddress } from './channels/channel.ts';
import { claimDue } from './deliveries/claim.ts';
import { countWaiting } from './deliveries/claims-repository.ts';
import { sweepDeliveries } from './deliveries/sweep.ts';
import type { Dependencies } from './dependencies.ts';
import { type Loop, startLoop } from './loop.ts';
import { startLane } from './sending/lane.ts';
import { reachByEmail, reachByPush } from './sending/reach.ts';
import { createDeleteUnknown } from './user-data/delete-unknown.ts';
import { followTimeZones } from './users/follow-time-zones.ts';

const CLAIMS_AT_A_TIME = 500;
const CLAIM_MS = 1000;
const FOLLOW_MS = 20_000;
const SWEEP_MS = 600_000;
/** With 500 users at a time, a million takes a day and a half. */
const DELETE_UNKNOWN_MS = 60_000;
const MAILS_AT_ONCE = 30;
const PUSHES_AT_ONCE = 128;

export type Channels = { email: Channel<EmailAddress>; push: Channel<PushAddress> | undefined };

/** Begins at once. The returned loop ends when all work in progress has ended. */
export function startWorker(
  dependencies: Dependencies & {
    channels: Channels;
    publicUrl: string;
    random: () => number;
    mailsAtOnce?: number;
    followMs?: number;
    telemetry: Telemetry;
    logger: Logger;
  },
): Loop {
  const { channels, logger, telemetry, database, now, mailsAtOnce = MAILS_AT_ONCE } = dependencies;
  const { metrics } = telemetry;
  const lane = { ...dependencies, metrics };
  const { email, push } = channels;
  const repeat = (name: string, idleMs: number, work: () => Promise<boolean>) =>
    startLoop({ name, idleMs, work, logger });
  const deleteUnknown = createDeleteUnknown(dependencies);
  const loops = [
    repeat('claim', CLAIM_MS, async () => (await claimDue(lane, CLAIMS_AT_A_TIME)) === CLAIMS_AT_A_TIME),
    repeat('follow time zones', dependencies.followMs ?? FOLLOW_MS, () =>
      followTimeZones(dependencies).then(() => false),
    ),
    repeat('forget', SWEEP_MS, () => sweepDeliveries(dependencies)),
    repeat('delete unknown users', DELETE_UNKNOWN_MS, () => deleteUnknown().then(() => false)),
    startLane({ ...lane, name: 'email', channel: email, reach: reachByEmail, parallel: mailsAtOnce }),
    ...(push === undefined
      ? []
      : [startLane({ ...lane, name: 'push', channel: push, reach: reachByPush, parallel: PUSHES_AT_ONCE })]),
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
