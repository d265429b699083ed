// Writes generated learners to PostgreSQL with COPY, the fastest way.
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { UserEvent } from '../../accounts/user-event.ts';
import type { Reminder } from '../../reminders/reminders/reminder.ts';
import type { PastEvents } from './events.ts';
import type { LearnerMaterial } from './learner.ts';

export type Learner = PastEvents & {
  userId: string;
  email: string;
  timeZone: string;
  createTime: Date;
  reminders: Reminder[];
  /** 32 random bytes for the link that ends mails. */
  unsubscribeToken: Buffer;
};

type Cell = string | number | boolean | Date | null;

const COPIES = {
  users:
    'accounts.users (user_id, email, folded_email, first_name, last_name, plan, time_zone, create_time, update_time)',
  materials: `scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days, repetitions,
    next_review_time, last_reviewed_time, revision, create_time, update_time, archive_time)`,
  search: 'scheduling.material_search (user_id, material_id, create_time, title, content, source_url)',
  reviews: `scheduling.reviews (user_id, material_id, revision, review_id, quality, review_time,
    before_ease_factor_hundredths, before_interval_days, before_repetitions, before_next_review_time,
    after_ease_factor_hundredths, after_interval_days, after_repetitions, after_next_review_time, x_request_id)`,
  snoozes:
    'scheduling.snoozes (user_id, snooze_id, snooze_until_time, reason, create_time, actor, x_request_id)',
  snoozedMaterials: `scheduling.snoozed_materials (user_id, snooze_id, material_id, revision, position,
    before_next_review_time, after_next_review_time)`,
  userEvents: `accounts.user_events (user_id, event_time, event_id, action, actor, request_id, subject_ids, is_of_key,
    is_of_person)`,
  marks: 'scheduling.changed_learners (user_id, material_id, revision)',
  reminderUsers: 'reminders.users (user_id, unsubscribe_token)',
  reminders: `reminders.reminders (user_id, reminder_id, minute_of_day, weekdays, by_email, by_push, min_due,
    only_if_not_reviewed_today, paused_until_time, enabled, time_zone, next_date, next_time, create_time, update_time)`,
} as const;

/** Writes all learners in one transaction. */
export async function writeLearners(client: Client, learners: readonly Learner[]): Promise<void> {
  await client.query('BEGIN');
  try {
    await copy(client, COPIES.users, learners.map(userRow));
    await copy(
      client,
      COPIES.materials,
      learners.flatMap((each) => each.materials.map((one) => materialRow(each, one))),
    );
    await copy(
      client,
      COPIES.search,
      learners.flatMap((each) => each.materials.map((one) => searchRow(each, one))),
    );
    await copy(
      client,
      COPIES.reviews,
      learners.flatMap((each) => each.materials.flatMap((one) => reviewRows(each, one))),
    );
    const snoozes = learners.flatMap((each) => each.snoozes.map((one) => snoozeRows(each, one)));
    await copy(
      client,
      COPIES.snoozes,
      snoozes.map(([snooze]) => snooze),
    );
    await copy(
      client,
      COPIES.snoozedMaterials,
      snoozes.map(([, material]) => material),
    );
    await copy(
      client,
      COPIES.userEvents,
      learners.flatMap(({ userEvents }) => userEvents.map(eventRow)),
    );
    // Their times are in the past, where no count of all learners looks for changes.
    await copy(
      client,
      COPIES.marks,
      learners.map(({ userId }) => [userId, userId, -1]),
    );
    const reminded = learners.filter(({ reminders }) => reminders.length > 0);
    if (reminded.length > 0) {
      await copy(client, COPIES.reminderUsers, reminded.map(reminderUserRow));
      await copy(
        client,
        COPIES.reminders,
        reminded.flatMap(({ reminders }) => reminders.map(reminderRow)),
      );
    }
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

function userRow({ userId, email, timeZone, createTime }: Learner): Cell[] {
  return [userId, email, email.toLowerCase(), 'Sample', 'Learner', 'free', timeZone, createTime, createTime];
}

function materialRow({ userId }: Learner, { material }: LearnerMaterial): Cell[] {
  const { schedule } = material;
  return [
    ...[userId, material.materialId, material.title, material.type],
    ...[schedule.easeFactorHundredths, schedule.intervalDays, schedule.repetitions],
    ...[
      material.nextReviewTime,
      material.lastReviewedTime,
      material.revision,
      material.createTime,
      material.updateTime,
      material.archiveTime,
    ],
  ];
}

function searchRow({ userId }: Learner, { material }: LearnerMaterial): Cell[] {
  return [userId, material.materialId, material.createTime, material.title.toLowerCase(), '', ''];
}

function reviewRows({ userId }: Learner, { reviews }: LearnerMaterial): Cell[][] {
  return reviews.map(({ before, after, ...review }) => [
    ...[userId, review.materialId, review.revision, review.reviewId, review.quality, review.reviewTime],
    ...[before.easeFactorHundredths, before.intervalDays, before.repetitions, before.nextReviewTime],
    ...[after.easeFactorHundredths, after.intervalDays, after.repetitions, after.nextReviewTime],
    review.requestId,
  ]);
}

/** Of the snooze, and of its one material. */
function snoozeRows({ userId }: Learner, { snooze, material }: Learner['snoozes'][number]): [Cell[], Cell[]] {
  const { snoozeId, snoozeUntilTime, reason, createTime, actor, requestId } = snooze;
  const { materialId, revision, beforeNextReviewTime, afterNextReviewTime } = material;
  return [
    [userId, snoozeId, snoozeUntilTime, reason, createTime, actor, requestId],
    [userId, snoozeId, materialId, revision, 1, beforeNextReviewTime, afterNextReviewTime],
  ];
}

function eventRow(event: UserEvent): Cell[] {
  return [
    ...[event.userId, event.eventTime, event.eventId, event.action, event.actor, event.requestId],
    ...[`{${event.subjectIds.join(',')}}`, event.isOfKey, event.isOfPerson],
  ];
}

function reminderUserRow({ userId, unsubscribeToken }: Learner): Cell[] {
  return [userId, `\\x${unsubscribeToken.toString('hex')}`];
}

function reminderRow({ next, ...reminder }: Reminder): Cell[] {
  return [
    ...[reminder.userId, reminder.reminderId, reminder.minuteOfDay, `{${reminder.weekdays.join(',')}}`],
    ...[reminder.byEmail, reminder.byPush, reminder.minDue, reminder.onlyIfNotReviewedToday],
    ...[reminder.pausedUntilTime, reminder.isEnabled, reminder.timeZone],
    ...[next?.date ?? null, next?.time ?? null, reminder.createTime, reminder.updateTime],
  ];
}

async function copy(client: Client, target: string, rows: readonly (readonly Cell[])[]): Promise<void> {
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
