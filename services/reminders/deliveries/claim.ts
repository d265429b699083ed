// Turns reminders whose turn has come into deliveries, in one transaction.
import type { Logger } from '../../platform/logging/logger.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { type Now, nowIn, nowParameter } from '../../platform/postgres/now.ts';
import { CHANNELS, NO_SUBSCRIPTION, type UserAddresses } from '../channels/registry.ts';
import { findAddresses } from '../channels/sql.ts';
import type { Occurrence } from '../reminders/next-occurrence.ts';
import { lateBefore, nextTurn, type Reminder } from '../reminders/reminder.ts';
import { REMINDER_COLUMNS, waitsAt } from '../reminders/sql.ts';
import { type Delivery, newDelivery, type SkipReason } from './delivery.ts';
import { insertDeliveries } from './sql.ts';

/** A reminder whose turn has come, and the turn. `now`: the instant of the claim. */
type Claim = Omit<Reminder, 'next'> & Occurrence & { now: Date };

export const CLAIM = `
  SELECT ${REMINDER_COLUMNS}, r.next_date::text AS date, r.next_time AS time, ${nowIn('$2')} AS now
  FROM reminders.reminders r
  WHERE ${waitsAt(nowIn('$2'))}
  ORDER BY r.next_time
  LIMIT $1
  FOR UPDATE SKIP LOCKED`;

/** Claims up to `limit` reminders that no other process holds, the earliest first. @returns how many there were. */
export async function claimDue(
  {
    database,
    now,
    newId,
    metrics,
    logger,
  }: {
    database: Database;
    now?: Now;
    newId: (time: Date) => string;
    metrics: Metrics;
    logger: Logger;
  },
  limit: number,
): Promise<number> {
  const { claims, deliveries } = await database.transaction(async (transaction) => {
    const values = [limit, nowParameter(now)];
    const claims = await transaction.query<Claim>({ name: 'claim-reminders', text: CLAIM, values });
    if (claims.length === 0) return { claims, deliveries: [] };
    const addressesOf = await findAddresses(transaction, [...new Set(claims.map(({ userId }) => userId))]);
    const deliveries = claims.flatMap((claim) => deliveriesOf(claim, addressesOf.get(claim.userId), newId));
    await insertDeliveries(transaction, deliveries);
    await advanceReminders(
      transaction,
      claims.map((claim) => ({ ...claim, next: nextAfter(claim, logger) })),
    );
    return { claims, deliveries };
  });
  metrics.count('srs_reminders_claimed_total', {}, claims.length);
  for (const { channel, skipReason } of deliveries)
    if (skipReason !== null)
      metrics.count('srs_reminder_deliveries_total', { channel, outcome: 'skipped', reason: skipReason });
  return claims.length;
}

/** The new deliveries of a claimed reminder: one per channel and address. */
export function deliveriesOf(
  claim: Claim,
  { emailIsOn, subscriptionIds }: UserAddresses = { emailIsOn: false, subscriptionIds: [] },
  newId: (time: Date) => string,
): Delivery[] {
  const { userId, reminderId, channels, date, time, now } = claim;
  const deliver = (
    channel: Claim['channels'][number],
    subscriptionId: string,
    skipReason: SkipReason | null,
  ) =>
    newDelivery({
      userId,
      deliveryId: newId(now),
      reminderId,
      localDate: date,
      channel,
      subscriptionId,
      isTest: false,
      skipReason,
      dueTime: time,
      createTime: now,
    });
  const skipReason = skipReasonOf(claim);
  const deliveries = channels.flatMap((channel) =>
    CHANNELS[channel].addresses({ emailIsOn, subscriptionIds }).map((id) => deliver(channel, id, skipReason)),
  );
  if (deliveries.length > 0) return deliveries;
  // So that support sees why nothing came.
  return channels.map((channel) => deliver(channel, NO_SUBSCRIPTION, 'paused'));
}

function skipReasonOf({ time, pausedUntilTime, now }: Claim): SkipReason | null {
  if (time < lateBefore(now)) return 'late';
  return (pausedUntilTime?.getTime() ?? 0) > now.getTime() ? 'paused' : null;
}

/** The occurrence after the claimed one. After an outage it can lie in the past, but not so far that it would be skipped as late. */
function nextAfter(claim: Claim, logger: Logger): Occurrence | null {
  const from = lateBefore(claim.now);
  const used = { ...claim, lastDate: claim.date };
  try {
    return nextTurn(used, from);
  } catch (error) {
    // One zone that this Node does not know must not hold up the others.
    logger.error({ err: error, reminderId: claim.reminderId }, 'unknown time zone: the reminder uses UTC');
    return nextTurn({ ...used, timeZone: 'UTC' }, from);
  }
}

/** Stores the claimed dates as used, and the next occurrences. */
async function advanceReminders(
  transaction: Queryable,
  claims: readonly (Claim & { next: Occurrence | null })[],
): Promise<void> {
  await transaction.query({
    name: 'advance-reminders',
    text: `UPDATE reminders.reminders r
           SET last_date = c.last_date, next_date = c.next_date, next_time = c.next_time
           FROM unnest($1::uuid[], $2::uuid[], $3::date[], $4::date[], $5::timestamptz[])
             AS c (user_id, reminder_id, last_date, next_date, next_time)
           WHERE r.user_id = c.user_id AND r.reminder_id = c.reminder_id`,
    values: [
      claims.map(({ userId }) => userId),
      claims.map(({ reminderId }) => reminderId),
      claims.map(({ date }) => date),
      claims.map(({ next }) => next?.date ?? null),
      claims.map(({ next }) => next?.time ?? null),
    ],
  });
}
