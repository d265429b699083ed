// Turns reminders whose turn has come into deliveries, in one transaction.
import type { Logger } from '../../platform/logging/logger.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Dependencies } from '../dependencies.ts';
import { createNextOccurrence, type nextOccurrence, type Occurrence } from '../reminders/next-occurrence.ts';
import { lateBefore, nextTurn } from '../reminders/reminder.ts';
import {
  type Addresses,
  advanceReminders,
  type Claim,
  findAddresses,
  insertDeliveries,
  lockDueReminders,
} from './claims-repository.ts';
import { type ChannelName, type Delivery, NO_SUBSCRIPTION, type SkipReason } from './delivery.ts';

type ClaimDependencies = Pick<Dependencies, 'database' | 'now' | 'newId'> & {
  metrics: Metrics;
  logger: Logger;
};

/**
 * Claims up to `limit` reminders that no other process holds.
 * @returns how many there were, and the channels that have something to send now.
 */
export async function claimDue(
  dependencies: ClaimDependencies,
  limit: number,
): Promise<{ claimed: number; channels: ReadonlySet<ChannelName> }> {
  const { database, metrics } = dependencies;
  const now = dependencies.now();
  const { claims, deliveries } = await database.transaction(async (transaction) => {
    const claims = await lockDue(transaction, now, limit);
    if (claims.length === 0) return { claims, deliveries: [] };
    const addresses = await findAddresses(transaction, [...new Set(claims.map(({ userId }) => userId))]);
    const addressesOf = new Map(addresses.map((each) => [each.userId, each]));
    const deliveries = claims.flatMap((claim) =>
      deliveriesOf(claim, addressesOf.get(claim.userId), now, dependencies.newId),
    );
    await insertDeliveries(transaction, deliveries);
    const findNext = createNextOccurrence();
    await advanceReminders(
      transaction,
      claims.map((claim) => ({
        ...claim,
        next: nextAfter(claim, { now, findNext, logger: dependencies.logger }),
      })),
    );
    return { claims, deliveries };
  });
  for (const _ of claims) metrics.count('srs_reminders_claimed_total', {});
  for (const { channel, skipReason } of deliveries)
    if (skipReason !== null)
      metrics.count('srs_reminder_deliveries_total', { channel, outcome: 'skipped', reason: skipReason });
  const pending = deliveries.filter(({ state }) => state === 'pending');
  return { claimed: claims.length, channels: new Set(pending.map(({ channel }) => channel)) };
}

/** Those that are too late to be sent come last: after an outage they must not hold up the others. */
async function lockDue(transaction: Queryable, now: Date, limit: number): Promise<Claim[]> {
  const lateUntil = new Date(lateBefore(now).getTime() - 1);
  const claims = await lockDueReminders(transaction, { after: lateUntil, until: now }, limit);
  if (claims.length === limit) return claims;
  const late = await lockDueReminders(
    transaction,
    { after: '-infinity', until: lateUntil },
    limit - claims.length,
  );
  return [...claims, ...late];
}

function deliveriesOf(
  claim: Claim,
  addresses: Addresses | undefined,
  now: Date,
  newId: (time: Date) => string,
): Delivery[] {
  const deliver = (
    channel: ChannelName,
    subscriptionId: string,
    skipReason = skipReasonOf(claim, now),
  ): Delivery => ({
    userId: claim.userId,
    deliveryId: newId(now),
    reminderId: claim.reminderId,
    localDate: claim.date,
    channel,
    subscriptionId,
    isTest: false,
    state: skipReason === null ? 'pending' : 'skipped',
    skipReason,
    failure: null,
    dueTime: claim.time,
    createTime: now,
    updateTime: now,
    attempts: 0,
  });
  const { emailIsOn = false, subscriptionIds = [] } = addresses ?? {};
  const reached = [
    ...(claim.byEmail && emailIsOn ? [deliver('email', NO_SUBSCRIPTION)] : []),
    ...(claim.byPush ? subscriptionIds.map((subscriptionId) => deliver('push', subscriptionId)) : []),
  ];
  if (reached.length > 0) return reached;
  // So that support sees why nothing came.
  return [
    ...(claim.byEmail ? [deliver('email', NO_SUBSCRIPTION, 'paused')] : []),
    ...(claim.byPush ? [deliver('push', NO_SUBSCRIPTION, 'paused')] : []),
  ];
}

function skipReasonOf({ time, pausedUntilTime }: Claim, now: Date): SkipReason | null {
  if (time < lateBefore(now)) return 'late';
  return (pausedUntilTime?.getTime() ?? 0) > now.getTime() ? 'paused' : null;
}

/** After an outage the next occurrence may have passed already: it is still due for as long as it is not late. */
function nextAfter(
  claim: Claim,
  { now, findNext, logger }: { now: Date; findNext: typeof nextOccurrence; logger: Logger },
): Occurrence | null {
  const from = lateBefore(now);
  const used = { ...claim, lastDate: claim.date };
  try {
    return nextTurn(used, from, findNext);
  } catch (error) {
    // One zone that this Node does not know must not hold up the others.
    logger.error({ err: error, reminderId: claim.reminderId }, 'the time zone is unknown here, UTC is used');
    return nextTurn({ ...used, timeZone: 'UTC' }, from);
  }
}
