// Writes generated learners to PostgreSQL with COPY, the fastest way.

import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { EmailOffReason } from '../../reminders/channels/sql.ts';
import type { Delivery } from '../../reminders/deliveries/delivery.ts';
import type { Reminder } from '../../reminders/reminders/reminder.ts';
import { toSearchText } from '../../scheduling/materials/search-text.ts';
import type { SampleKey } from './keys.ts';
import type { PastEvents } from './learner.ts';

export type Learner = PastEvents & {
  userId: string;
  email: string;
  timeZone: string;
  createTime: Date;
  reminders: Reminder[];
  deliveries: Delivery[];
  keys: SampleKey[];
  firstName: string;
  lastName: string;
  plan: 'free' | 'premium';
  emailOff: { reason: EmailOffReason; time: Date } | null;
  /** 32 random bytes for the link that ends mails. */
  unsubscribeToken: Buffer;
};

type Cell = string | number | boolean | Date | null;

/** Each table with its columns, and the rows of a learner, in the order of foreign keys. */
const COPIES: readonly (readonly [target: string, rowsOf: (learner: Learner) => Cell[][]])[] = [
  [
    'accounts.users (user_id, email, folded_email, first_name, last_name, plan, time_zone, create_time, update_time)',
    userRows,
  ],
  [
    `scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days, repetitions,
      next_review_time, last_reviewed_time, revision, create_time, update_time, archive_time, content, source_url, labels)`,
    materialRows,
  ],
  ['scheduling.material_labels (user_id, label, material_id)', labelRows],
  ['scheduling.material_search (user_id, material_id, create_time, title, content, source_url)', searchRows],
  [
    `scheduling.reviews (user_id, material_id, revision, review_id, quality, review_time,
      before_ease_factor_hundredths, before_interval_days, before_repetitions, before_next_review_time,
      after_ease_factor_hundredths, after_interval_days, after_repetitions, after_next_review_time, x_request_id)`,
    reviewRows,
  ],
  [
    'scheduling.snoozes (user_id, snooze_id, snooze_until_time, reason, create_time, actor, x_request_id)',
    snoozeRows,
  ],
  [
    `scheduling.snoozed_materials (user_id, snooze_id, material_id, revision, position,
      before_next_review_time, after_next_review_time)`,
    snoozedMaterialRows,
  ],
  [
    `accounts.user_events (user_id, event_time, event_id, action, actor, request_id, subject_ids, is_of_key,
      is_of_person)`,
    eventRows,
  ],
  [
    `accounts.api_keys (api_key_id, user_id, name, scopes, key_hash, pepper_version, create_time, key_prefix, last_used_time,
      revoke_time, last_refused_time, refused_minutes)`,
    keyRows,
  ],
  ['reminders.users (user_id, unsubscribe_token, email_off_reason, email_off_time)', reminderUserRows],
  [
    `reminders.reminders (user_id, reminder_id, minute_of_day, weekdays, channels, min_due,
      only_if_not_reviewed_today, paused_until_time, enabled, time_zone, last_date, next_date, next_time, create_time, update_time)`,
    reminderRows,
  ],
  [
    `reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test, state, skip_reason,
      failure, due_time, create_time, update_time, attempts, attempt_time)`,
    deliveryRows,
  ],
];

/** Writes all learners in one transaction. */
export async function writeLearners(client: Client, learners: readonly Learner[]): Promise<void> {
  await client.query('BEGIN');
  try {
    for (const [target, rowsOf] of COPIES) await copy(client, target, learners.flatMap(rowsOf));
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

function userRows({ userId, email, firstName, lastName, plan, timeZone, createTime }: Learner): Cell[][] {
  return [[userId, email, email.toLowerCase(), firstName, lastName, plan, timeZone, createTime, createTime]];
}

function materialRows({ userId, materials }: Learner): Cell[][] {
  return materials.map(({ material }) => [
    userId,
    material.materialId,
    material.title,
    material.type,
    material.easeFactorHundredths,
    material.intervalDays,
    material.repetitions,
    material.nextReviewTime,
    material.lastReviewedTime,
    material.revision,
    material.createTime,
    material.updateTime,
    material.archiveTime,
    material.content,
    material.sourceUrl,
    material.labels && `{"${material.labels.join('","')}"}`,
  ]);
}

function labelRows({ userId, materials }: Learner): Cell[][] {
  return materials.flatMap(({ material: { materialId, labels } }) =>
    (labels ?? []).map((label) => [userId, label, materialId]),
  );
}

function searchRows({ userId, materials }: Learner): Cell[][] {
  return materials.map(({ material: { materialId, createTime, title, content, sourceUrl } }) => [
    userId,
    materialId,
    createTime,
    toSearchText(title),
    toSearchText(content ?? ''),
    toSearchText(sourceUrl ?? ''),
  ]);
}

function reviewRows({ userId, materials }: Learner): Cell[][] {
  return materials.flatMap(({ reviews }) =>
    reviews.map(({ before, after, ...review }) => [
      userId,
      review.materialId,
      review.revision,
      review.reviewId,
      review.quality,
      review.reviewTime,
      before.easeFactorHundredths,
      before.intervalDays,
      before.repetitions,
      before.nextReviewTime,
      after.easeFactorHundredths,
      after.intervalDays,
      after.repetitions,
      after.nextReviewTime,
      review.requestId,
    ]),
  );
}

function snoozeRows({ userId, snoozes }: Learner): Cell[][] {
  return snoozes.map(({ snooze }) => [
    userId,
    snooze.snoozeId,
    snooze.snoozeUntilTime,
    snooze.reason,
    snooze.createTime,
    snooze.actor,
    snooze.requestId,
  ]);
}

function snoozedMaterialRows({ userId, snoozes }: Learner): Cell[][] {
  return snoozes.map(({ snooze: { snoozeId }, material }) => [
    userId,
    snoozeId,
    material.materialId,
    material.revision,
    1,
    material.beforeNextReviewTime,
    material.afterNextReviewTime,
  ]);
}

function eventRows({ userEvents }: Learner): Cell[][] {
  return userEvents.map((event) => [
    event.userId,
    event.eventTime,
    event.eventId,
    event.action,
    event.actor,
    event.requestId,
    `{${event.subjectIds.join(',')}}`,
    event.isOfKey,
    event.isOfPerson,
  ]);
}

function keyRows({ userId, keys }: Learner): Cell[][] {
  return keys.map((key) => [
    key.apiKeyId,
    userId,
    key.name,
    `{${key.scopes.join(',')}}`,
    hexOf(key.keyHash),
    '1',
    key.createTime,
    key.keyPrefix,
    key.lastUsedTime,
    key.revokeTime,
    key.lastRefusedTime,
    key.refusedMinutes,
  ]);
}

const hexOf = (bytes: Buffer) => `\\x${bytes.toString('hex')}`;

function reminderUserRows({ userId, reminders, unsubscribeToken, emailOff }: Learner): Cell[][] {
  if (reminders.length === 0) return [];
  return [[userId, hexOf(unsubscribeToken), emailOff?.reason ?? null, emailOff?.time ?? null]];
}

function deliveryRows({ deliveries }: Learner): Cell[][] {
  return deliveries.map((delivery) => [
    delivery.userId,
    delivery.deliveryId,
    delivery.reminderId,
    delivery.localDate,
    delivery.channel,
    delivery.subscriptionId,
    delivery.isTest,
    delivery.state,
    delivery.skipReason,
    delivery.failure,
    delivery.dueTime,
    delivery.createTime,
    delivery.updateTime,
    delivery.attempts,
    delivery.updateTime,
  ]);
}

function reminderRows({ reminders }: Learner): Cell[][] {
  return reminders.map(({ next, ...reminder }) => [
    reminder.userId,
    reminder.reminderId,
    reminder.minuteOfDay,
    `{${reminder.weekdays.join(',')}}`,
    `{${reminder.channels.join(',')}}`,
    reminder.minDue,
    reminder.onlyIfNotReviewedToday,
    reminder.pausedUntilTime,
    reminder.isEnabled,
    reminder.timeZone,
    reminder.lastDate,
    next?.date ?? null,
    next?.time ?? null,
    reminder.createTime,
    reminder.updateTime,
  ]);
}

/** Nothing without rows: then the table may be missing. */
async function copy(client: Client, target: string, rows: readonly (readonly Cell[])[]): Promise<void> {
  if (rows.length === 0) return;
  const stream = client.query(copyFrom(`COPY ${target} FROM STDIN`));
  const done = finished(stream);
  for (let index = 0; index < rows.length; index += 1000) {
    const text = rows
      .slice(index, index + 1000)
      .map((row) => `${row.map(toText).join('\t')}\n`)
      .join('');
    if (!stream.write(text)) await Promise.race([once(stream, 'drain'), done]);
  }
  stream.end();
  await done;
}

/** COPY's text format. */
function toText(cell: Cell): string {
  if (cell === null) return '\\N';
  if (cell instanceof Date) return cell.toISOString();
  return String(cell).replace(
    /[\\\t\n\r]/g,
    (character) => `\\${{ '\t': 't', '\n': 'n', '\r': 'r' }[character] ?? character}`,
  );
}
