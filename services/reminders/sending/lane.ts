// Sends the pending deliveries of one channel: leases them in batches, asks what is due, hands them over in parallel.
import { atMost } from '../../platform/concurrency/at-most.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Channel, ReminderMessage } from '../channels/channel.ts';
import type { ChannelName, Outcome } from '../deliveries/delivery.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Loop, startLoop } from '../loop.ts';
import type { Account } from '../peers.ts';
import { moveReminders } from '../users/follow-time-zones.ts';
import { attempt, LONGEST_SEND_MS, outcomeOf } from './attempt.ts';
import { decideBefore, decideByDue } from './decision.ts';
import { askFacts, type Facts } from './facts.ts';
import { createHeldLeases } from './held-leases.ts';
import { createHosts } from './hosts.ts';
import { type LeasedWork, leaseDeliveries, readLeased } from './leases-repository.ts';
import type { Reach } from './reach.ts';
import { createRecorder } from './record.ts';

/** As many users as scheduling counts at once. */
const BATCH = 500;
/** The next batch is taken while the rest of the one before is being sent. */
const REFILL_BELOW = 250;
const IDLE_MS = 1000;
const LEASE_MS = 120_000;
const PEERS_AWAY_MS = 10_000;

export type LaneOptions<Address> = Pick<Dependencies, 'database' | 'peers' | 'now'> & {
  name: ChannelName;
  channel: Channel<Address>;
  reach: (work: LeasedWork, account: Account) => Reach<Address> | Outcome;
  /** Messages sent at once. */
  parallel: number;
  /** What links begin with, without a slash at the end. */
  publicUrl: string;
  /** From 0 to below 1. */
  random: () => number;
  metrics: Metrics;
  logger: Logger;
};

/** Runs until stopped; then what is being sent is sent, and the rest is left to others at once. */
export function startLane<Address>(options: LaneOptions<Address>): Loop {
  const { database, peers, channel, now, name, parallel, random, logger } = options;
  const record = createRecorder({ ...options, channel: name });
  const held = createHeldLeases();
  const limit = atMost(parallel);
  const hosts = createHosts({ perHost: Math.ceil(parallel / 4), clock: () => performance.now() });
  let isStopping = false;
  let arePeersAway = false;

  const finish = async (work: LeasedWork, outcome: Outcome, attempts = work.attempts) => {
    await record({ ...work, outcome, attempts });
    held.remove(work);
  };
  const leave = (work: LeasedWork, retryInMs: number) => finish(work, { state: 'pending', retryInMs });

  const send = async (work: LeasedWork, { address, host }: Reach<Address>, message: ReminderMessage) => {
    const sent = await attempt(channel, { address, message, logger });
    if (host !== undefined) hosts.note(host, sent.result !== 'retry');
    const attempts = work.attempts + 1;
    const tried = { attempts, dueTime: work.dueTime, now: now(), random: random() };
    await finish(work, outcomeOf(sent, name, tried), attempts);
  };

  const enqueue = async (
    work: LeasedWork,
    { reach, message, leaseEnd }: { reach: Reach<Address>; message: ReminderMessage; leaseEnd: number },
  ) => {
    const start = async () => {
      const isLate = performance.now() > leaseEnd - LONGEST_SEND_MS;
      await (isStopping || isLate ? leave(work, 0) : send(work, reach, message));
      return true;
    };
    const { host } = reach;
    if (host === undefined) await limit(start);
    else if ((await hosts.run(host, () => limit(start))) === undefined) await leave(work, hosts.restMs(host));
  };

  const handle = async (works: readonly LeasedWork[], leaseEnd: number) => {
    const time = now();
    const undecided = works.filter((work) => {
      const outcome = decideBefore(work, time);
      if (outcome !== undefined) void finish(work, outcome);
      return outcome === undefined;
    });
    if (undecided.length === 0) return;
    const userIds = [...new Set(undecided.map(({ userId }) => userId))];
    const facts = await askFacts(peers, userIds, time).catch((error: unknown) => {
      if (!arePeersAway)
        logger.warn({ err: error, channel: name }, 'scheduling or accounts is away: reminders wait');
      return undefined;
    });
    if (facts !== undefined && arePeersAway)
      logger.info({ channel: name }, 'scheduling and accounts are back: reminders are sent again');
    arePeersAway = facts === undefined;
    for (const work of undecided) {
      const account = facts?.accounts.get(work.userId);
      const isElsewhere = work.reminder !== null && account?.timeZone !== work.reminder.timeZone;
      // Following changes can miss one whose time lies before that of others.
      if (account !== undefined && isElsewhere)
        moveReminders(options, account).catch((error: unknown) =>
          logger.warn({ err: error, userId: work.userId }, 'reminders not moved to the new time zone'),
        );
      const step = facts === undefined ? peersAway(random) : nextStep(options, work, facts);
      void ('state' in step ? finish(work, step) : enqueue(work, { ...step, leaseEnd }));
    }
  };

  const work = async () => {
    await held.fewerThan(REFILL_BELOW);
    const leaseEnd = performance.now() + LEASE_MS;
    const leases = await leaseDeliveries(database, name, { limit: BATCH, leaseMs: LEASE_MS });
    const fresh = held.renew(leases);
    if (fresh.length > 0) {
      const works = await readLeased(database, fresh);
      held.add(works);
      await handle(works, leaseEnd);
    }
    return leases.length === BATCH && !arePeersAway;
  };
  const loop = startLoop({ name: `send ${name}`, work, idleMs: IDLE_MS, logger });
  return {
    async stop() {
      isStopping = true;
      await loop.stop();
      await held.fewerThan(1);
    },
  };
}

/** Nothing was tried: again in 5 to 10 s. */
function peersAway(random: () => number): Outcome {
  return { state: 'pending', retryInMs: PEERS_AWAY_MS * (0.5 + random() / 2) };
}

/** What is to be sent where, or the outcome of what is not to be sent. */
function nextStep<Address>(
  { reach, publicUrl, random }: LaneOptions<Address>,
  work: LeasedWork,
  { accounts, due }: Facts,
): Outcome | { reach: Reach<Address>; message: ReminderMessage } {
  const account = accounts.get(work.userId);
  if (account === undefined)
    return { state: 'failed', cause: 'no user', failure: 'This user no longer exists.' };
  const reached = reach(work, account);
  if ('state' in reached) return reached;
  const counted = due.get(work.userId);
  if (counted === undefined) return peersAway(random);
  const message = {
    deliveryId: work.deliveryId,
    userId: work.userId,
    firstName: account.firstName,
    dueCount: counted.dueCount,
    titles: counted.titles,
    unsubscribeUrl: `${publicUrl}/unsubscribe/${work.unsubscribeToken.toString('base64url')}`,
    isTest: work.isTest,
  };
  return decideByDue(work, counted) ?? { reach: reached, message };
}
