// Sends the pending deliveries of one channel: leases them in batches, asks what is due, hands them over in parallel.
import { atMost, endsWithin } from '../../platform/concurrency.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Channel } from '../channels/channel.ts';
import type { ChannelName, Outcome } from '../deliveries/delivery.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Loop, startLoop } from '../loop.ts';
import type { Account } from '../peers.ts';
import { moveReminders } from '../users/follow-time-zones.ts';
import { attempt, LONGEST_SEND_MS, outcomeOf } from './attempt.ts';
import { asOfTime, decideBefore } from './decision.ts';
import { askFacts, type Facts } from './facts.ts';
import { createHeldLeases } from './held-leases.ts';
import { createHosts } from './hosts.ts';
import { type LeasedWork, leaseDeliveries, readLeased } from './leases-repository.ts';
import { nextStep, peersAway, type Step } from './next-step.ts';
import type { Reach } from './reach.ts';
import { createRecorder } from './record.ts';
import { createReread } from './reread.ts';

/** As many users as scheduling counts at once. */
const BATCH = 500;
/** The next batch is taken while the rest of the one before is being sent. */
const REFILL_BELOW = 250;
const LEASE_MS = 120_000;
/** A message that has waited longer since its reminder was read is decided on once more. */
const FRESH_MS = 5000;
/** A message that a host takes longer for gives its place to others: of several slow hosts, each keeps its own share only. */
const SLOW_MS = 1000;
/** Of a message that waits since those to the same host have failed. */
const HOST_FAILS = 'The push service was not working.';

type LaneOptions<Address> = Pick<Dependencies, 'database' | 'peers' | 'now'> & {
  name: ChannelName;
  channel: Channel<Address>;
  reach: (work: LeasedWork, account: Account) => Reach<Address> | Outcome;
  /** Messages sent at once. */
  parallel: number;
  /** Milliseconds until it looks again for work where there was none and nobody woke it. */
  lookMs: number;
  /** What links begin with, without a slash at the end. */
  publicUrl: string;
  /** From 0 to below 1. */
  random: () => number;
  metrics: Metrics;
  logger: Logger;
};

/** Runs until stopped; then what is being sent is sent, and the rest is left to others at once. */
export function startLane<Address>(options: LaneOptions<Address>): Loop {
  const { database, peers, channel, now, name, parallel, lookMs, random, logger } = options;
  const record = createRecorder({ ...options, channel: name });
  const held = createHeldLeases();
  const limit = atMost(parallel);
  const hosts = createHosts({ perHost: Math.ceil(parallel / 4), clock: () => performance.now() });
  const reread = createReread(database);
  let isStopping = false;
  let arePeersAway = false;

  const finish = async (work: LeasedWork, outcome: Outcome, attempts = work.attempts) => {
    await record({ work, outcome, attempts });
    held.remove(work);
  };

  const send = async (work: LeasedWork, { reach: { address, host }, message }: Step<Address>) => {
    const sent = await attempt(channel, { address, message, logger });
    if (host !== undefined) hosts.note(host, sent.result !== 'retry');
    const attempts = work.attempts + 1;
    const tried = { attempts, dueTime: work.dueTime, now: now(), random: random() };
    await finish(work, outcomeOf(sent, name, tried), attempts);
  };

  /** What becomes of a message that has waited: the reminder or channel may have been switched off or deleted meanwhile. */
  const decideAgain = async (work: LeasedWork, facts: Facts): Promise<Outcome | Step<Address>> => {
    const current = await reread(work).catch(() => undefined);
    // Without the database it is tried again; one that was deleted or that another process has leased takes no outcome.
    if (current === undefined) return { state: 'pending', retryInMs: 0 };
    return decideBefore(current, now()) ?? nextStep(options, current, facts);
  };

  const enqueue = async (
    work: LeasedWork,
    step: Step<Address>,
    { facts, time, leaseEnd }: { facts: Facts; time: Date; leaseEnd: number },
  ) => {
    const start = async () => {
      const isLate = performance.now() > leaseEnd - LONGEST_SEND_MS;
      if (isStopping || isLate) return finish(work, { state: 'pending', retryInMs: 0 });
      const isFresh = Math.abs(now().getTime() - time.getTime()) <= FRESH_MS;
      const last = isFresh ? step : await decideAgain(work, facts);
      return 'state' in last ? finish(work, last) : send(work, last);
    };
    const { host } = step.reach;
    if (host === undefined) return limit(start);
    held.setWaiting(work, true);
    const begun = await hosts.run(host, async () => {
      held.setWaiting(work, false);
      const sending = Promise.withResolvers<void>();
      await limit(async () => {
        sending.resolve(start());
        if (!(await endsWithin(sending.promise, SLOW_MS))) held.setWaiting(work, true);
      });
      await sending.promise;
      return true;
    });
    if (begun !== undefined) return;
    const failure = work.failure ?? HOST_FAILS;
    await finish(work, { state: 'pending', retryInMs: hosts.restMs(host), failure });
  };

  const handle = async (works: readonly LeasedWork[], leaseEnd: number) => {
    const time = now();
    const undecided = works.filter((work) => {
      const outcome = decideBefore(work, time);
      if (outcome !== undefined) void finish(work, outcome);
      return outcome === undefined;
    });
    const byAsOf = Map.groupBy(undecided, (work) => asOfTime(work, time).getTime());
    for (const [asOfMs, some] of byAsOf) await decide(some, new Date(asOfMs), { time, leaseEnd });
  };

  const decide = async (
    works: readonly LeasedWork[],
    asOf: Date,
    { time, leaseEnd }: { time: Date; leaseEnd: number },
  ) => {
    const userIds = [...new Set(works.map(({ userId }) => userId))];
    const facts = await askFacts(peers, userIds, asOf).catch((error: unknown) => {
      if (!arePeersAway)
        logger.warn({ err: error, channel: name }, 'scheduling or accounts is away: reminders wait');
      return undefined;
    });
    if (facts !== undefined && arePeersAway)
      logger.info({ channel: name }, 'scheduling and accounts are back: reminders are sent again');
    arePeersAway = facts === undefined;
    if (facts === undefined) {
      for (const work of works) void finish(work, peersAway(random));
      return;
    }
    for (const work of works) {
      const account = facts.accounts.get(work.userId);
      const isElsewhere = work.reminder !== null && account?.timeZone !== work.reminder.timeZone;
      // Following changes can miss one whose time lies before that of others.
      if (account !== undefined && isElsewhere)
        moveReminders(options, account).catch((error: unknown) =>
          logger.warn({ err: error, userId: work.userId }, 'reminders not moved to the new time zone'),
        );
      const step = nextStep(options, work, facts);
      if ('state' in step) void finish(work, step);
      else void enqueue(work, step, { facts, time, leaseEnd });
    }
  };

  const work = async () => {
    await held.room(REFILL_BELOW);
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
  const loop = startLoop({ name: `send ${name}`, work, idleMs: lookMs, logger });
  return {
    wake: loop.wake,
    async stop() {
      isStopping = true;
      await loop.stop();
      await held.empty();
    },
  };
}
