// Sends pending deliveries. A process has a few plain loops for each channel; each leases 25 deliveries, asks what is due, decides,
// sends, and stores what became of them.
import { setTimeout as sleep } from 'node:timers/promises';
import { atMost } from '../../platform/concurrency.ts';
import { hasReason } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { Now } from '../../platform/postgres/now.ts';
import { toError } from '../../platform/thrown.ts';
import type { Sending, SendResult } from '../channels/channel.ts';
import { CHANNELS, type ChannelName } from '../channels/registry.ts';
import { startLoop } from '../loop.ts';
import type { Account, DueCount, Peers } from '../peers.ts';
import { afterAttempt, asOfTime, decide, type Ending, type LeasedDelivery } from './decide.ts';
import { leaseDeliveries, releaseLeases, storeEndings } from './lease.ts';
import { messageOf } from './message.ts';

const BATCH = 25;
const LEASE_MS = 120_000;
/** 30 s in which a channel must send a message, and 30 s to store the outcome. */
const SENDING_AND_STORING_MS = 60_000;
const STORE_AGAIN_MS = 1000;
/** From one line in the log about refusals to the next. */
const LOG_AGAIN_MS = 60_000;

type SendOptions = {
  database: Database;
  peers: Peers;
  /** Default: the database's clock. */
  now?: Now;
  name: ChannelName;
  channel: Sending;
  /** Milliseconds between two looks for work where there was none and nobody woke the loops. */
  lookMs: number;
  /** What links begin with, without a slash at the end. */
  publicUrl: string;
  /** From 0 to below 1. */
  random: () => number;
  metrics: Metrics;
  logger: Logger;
};

/** As many loops as keep the channel busy, and one that leases the next batch meanwhile. No more is leased than they send. */
export function startSending(options: SendOptions) {
  const { name, channel, lookMs, logger } = options;
  const sender = createSender(options);
  const count = Math.ceil(channel.parallel / BATCH) + 1;
  // The first idle loop looks often, the others rarely: they matter only while the first one is sending.
  const loops = Array.from({ length: count }, (_, index) =>
    startLoop({
      name: `send ${name}`,
      idleMs: index === 0 ? lookMs : lookMs * count,
      work: sender.sendBatch,
      logger,
    }),
  );
  return {
    wake() {
      for (const loop of loops) loop.wake();
    },
    /** What is being sent is sent; the leases of the rest are given back. */
    async stop() {
      sender.stop();
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}

type Answered = { account: Account | undefined; due: DueCount | undefined };

function createSender(options: SendOptions) {
  const { database, name, channel, now, random, logger } = options;
  const limit = atMost(channel.parallel);
  const ask = createAsk(options);
  const store = createStore(options);
  let isStopping = false;
  /** For each batch in progress, a function that stores new outcomes and releases the leases of what is not sent. */
  const batches = new Set<() => Promise<void>>();

  /** undefined: not sent, since the process stops or the lease would end meanwhile. */
  const send = (delivery: LeasedDelivery, { account, due }: Answered, time: Date, endMs: number) =>
    limit(async (): Promise<Ending | undefined> => {
      if (isStopping || performance.now() > endMs - SENDING_AND_STORING_MS) return undefined;
      const { userId, subscription, dueTime } = delivery;
      const message = messageOf(delivery, { account, due }, { publicUrl: options.publicUrl, time });
      const recipient = { userId, email: account?.email ?? '', subscription };
      const sent = await channel.send(message, recipient).catch((error: unknown): SendResult => {
        // The error's own text may hold the address.
        const { name: code } = toError(error);
        logger.error({ code, channel: name, deliveryId: delivery.deliveryId }, 'a channel failed');
        return { result: 'retry', reason: 'An error in the reminders service prevented sending.' };
      });
      const attempts = delivery.attempts + 1;
      const outcome = afterAttempt(sent, { attempts, dueTime, now: time, random: random() });
      return { delivery, outcome, attempts };
    });

  return {
    /** @returns whether there may be more. */
    async sendBatch(): Promise<boolean> {
      const endMs = performance.now() + LEASE_MS;
      const leased = await leaseDeliveries(database, name, { limit: BATCH, leaseMs: LEASE_MS, now });
      const { deliveries, now: time } = leased;
      if (time === undefined) return false;
      const answers = await ask(deliveries, time);
      const ended: Ending[] = [];
      const left: LeasedDelivery[] = [];
      const storeEnded = async () => {
        await store(ended.splice(0), endMs);
        await releaseLeases(database, left.splice(0));
      };
      const end = async (delivery: LeasedDelivery): Promise<Ending | undefined> => {
        const found = answers?.get(delivery.deliveryId);
        const known = found && { isKnown: found.account !== undefined, due: found.due };
        const decided = decide(delivery, known, time);
        const { attempts } = delivery;
        if (decided !== 'send') return { delivery, outcome: decided, attempts };
        const unreachable = CHANNELS[name].unreachable(delivery);
        if (unreachable !== undefined)
          return { delivery, outcome: { state: 'failed', ...unreachable }, attempts };
        return found && send(delivery, found, time, endMs);
      };
      batches.add(storeEnded);
      try {
        await Promise.all(
          deliveries.map(async (delivery) => {
            const ending = await end(delivery);
            if (ending === undefined) left.push(delivery);
            else ended.push(ending);
            if (isStopping) await storeEnded();
          }),
        );
        await storeEnded();
      } finally {
        batches.delete(storeEnded);
      }
      return deliveries.length === BATCH && answers !== undefined;
    },
    /** From now on outcomes are stored at once, without waiting for slow messages of the batch: the process may end first. */
    stop() {
      isStopping = true;
      // A failure has been logged by then.
      for (const storeEnded of batches) storeEnded().catch(() => {});
    },
  };
}

/** Returns a function that gets account and due count by delivery ID; undefined while scheduling or accounts is unavailable. */
function createAsk({ peers, name, logger }: SendOptions) {
  let areUnavailable = false;
  /** Scheduling refuses a batch for one invalid user, as with an unknown time zone. Then asks for each alone, and omits the invalid. */
  const countDue = async (
    accounts: readonly Account[],
    { asOf, labels }: { asOf: Date; labels: readonly string[] },
  ): Promise<Map<string, DueCount>> => {
    try {
      return await peers.countDue(accounts, asOf, labels);
    } catch (error) {
      if (!hasReason(error, 'INVALID_REQUEST')) throw error;
      if (accounts.length === 1) return new Map();
      const counts = await Promise.all(accounts.map((account) => countDue([account], { asOf, labels })));
      return new Map(counts.flatMap((count) => [...count]));
    }
  };
  const askAll = async (deliveries: readonly LeasedDelivery[], time: Date) => {
    const accounts = await peers.findAccounts(deliveries.map(({ userId }) => userId));
    const answers = new Map<string, Answered>();
    const labelsOf = ({ reminder }: LeasedDelivery) => reminder?.labels ?? [];
    const byQuestion = Map.groupBy(deliveries, (delivery) =>
      JSON.stringify([asOfTime(delivery, time), labelsOf(delivery)]),
    );
    for (const some of byQuestion.values()) {
      const [first] = some;
      if (first === undefined) continue;
      const users = new Set(some.map(({ userId }) => userId));
      const asked = [...accounts.values()].filter(({ userId }) => users.has(userId));
      const due = await countDue(asked, { asOf: asOfTime(first, time), labels: labelsOf(first) });
      for (const { deliveryId, userId } of some)
        answers.set(deliveryId, { account: accounts.get(userId), due: due.get(userId) });
    }
    return answers;
  };
  return async (deliveries: readonly LeasedDelivery[], time: Date) => {
    try {
      const answers = await askAll(deliveries, time);
      if (areUnavailable)
        logger.info({ channel: name }, 'scheduling and accounts are back: reminders are sent again');
      areUnavailable = false;
      return answers;
    } catch (error) {
      if (!areUnavailable)
        logger.warn({ err: error, channel: name }, 'scheduling or accounts is unavailable: reminders wait');
      areUnavailable = true;
      return undefined;
    }
  };
}

/** Returns a function that stores endings and counts them; while the database is unavailable, it retries until the lease ends. */
function createStore({ database, now, name, metrics, logger }: SendOptions) {
  let loggedMs = Number.NEGATIVE_INFINITY;
  const measure = ({ delivery, outcome, time }: Ending & { time: Date }) => {
    const count = (ending: string, reason: string) =>
      metrics.count('srs_reminder_deliveries_total', { channel: name, outcome: ending, reason });
    if (outcome.state === 'sent') {
      count('sent', '');
      const lagSeconds = (time.getTime() - delivery.dueTime.getTime()) / 1000;
      metrics.observe('srs_reminder_lag_seconds', { channel: name }, lagSeconds);
    } else if (outcome.state === 'skipped') count('skipped', outcome.skipReason);
    else if (outcome.state === 'failed') count('failed', outcome.cause);
    else if (outcome.failure !== undefined) {
      count('retried', outcome.refusesUs === true ? 'refuses us' : '');
      if (outcome.refusesUs !== true || performance.now() - loggedMs < LOG_AGAIN_MS) return;
      loggedMs = performance.now();
      logger.error({ channel: name, failure: outcome.failure }, 'we are refused as sender: reminders wait');
    }
  };
  return async (endings: readonly Ending[], endMs: number): Promise<void> => {
    if (endings.length === 0) return;
    for (let isFirst = true; ; isFirst = false) {
      try {
        for (const ending of await storeEndings(database, name, { endings, now })) measure(ending);
        return;
      } catch (error) {
        if (performance.now() > endMs) throw error;
        if (isFirst)
          logger.warn({ err: error, channel: name, deliveries: endings.length }, 'outcomes not stored yet');
        await sleep(STORE_AGAIN_MS);
      }
    }
  };
}
