// The rpcs of reminders.v1.ReminderService for reminders. Settings are validated as the proto documents; each error names its field.
import type { ReminderInput } from '../../../generated/reminders/v1/Reminder.ts';
import type { ReminderServiceHandlers } from '../../../generated/reminders/v1/ReminderService.ts';
import type { UpdateReminderRequest } from '../../../generated/reminders/v1/UpdateReminderRequest.ts';
import type { Weekday } from '../../../generated/reminders/v1/Weekday.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import { changesNothing, readFieldMask } from '../../platform/field-mask.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { fromTimestamp, toOptionalTimestamp, toTimestamp } from '../../platform/instants.ts';
import { readLabels } from '../../platform/labels.ts';
import { requireUserId } from '../../platform/uuid.ts';
import {
  ANY_CHANNEL,
  CHANNEL_NAMES,
  type ChannelName,
  fromChannelMessage,
  toChannelMessage,
} from '../channels/registry.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound, requireId } from '../requests.ts';
import { writeForUser } from '../users/locked-user.ts';
import { timeOfDay } from './next-occurrence.ts';
import { nextTurn, type Reminder, type ReminderSettings } from './reminder.ts';
import { deleteReminder, insertReminder, listReminders, lockReminder, updateReminder } from './sql.ts';

const MAX_REMINDERS = 10;
const MAX_MIN_DUE = 1000;
/** ISO numbers. */
const EVERY_DAY: readonly number[] = [1, 2, 3, 4, 5, 6, 7];

export function createReminderHandlers(dependencies: Dependencies) {
  const { database, nowOf, newId } = dependencies;
  return {
    async CreateReminder(request) {
      const userId = requireUserId(request.userId);
      const settings: ReminderSettings = {
        minuteOfDay: requireTimeOfDay(request.timeOfDay),
        weekdays: request.weekdays.length > 0 ? requireWeekdays(request.weekdays) : EVERY_DAY,
        channels: requireChannels(request.channels),
        minDue: requireMinDue(request.minDue ?? 1),
        onlyIfNotReviewedToday: request.onlyIfNotReviewedToday,
        pausedUntilTime:
          request.pausedUntilTime && fromTimestamp(request.pausedUntilTime, 'paused_until_time'),
        isEnabled: request.enabled ?? true,
        labels: readLabels('labels', request.labels) ?? [],
      };
      const reminder = await writeForUser(dependencies, userId, async (transaction, user, { timeZone }) => {
        if ((await listReminders(transaction, userId)).length >= MAX_REMINDERS) throw tooMany();
        const createTime = user.now;
        const owned = { ...settings, userId, timeZone, lastDate: null };
        const created: Reminder = {
          ...owned,
          reminderId: newId(createTime),
          next: nextTurn(owned, createTime),
          createTime,
          updateTime: createTime,
        };
        await insertReminder(transaction, created);
        return created;
      });
      return { reminder: toReminderMessage(reminder) };
    },

    async UpdateReminder(request) {
      const userId = requireUserId(request.userId);
      const reminderId = requireId('reminder', request.reminderId);
      const changes = readChanges(request);
      const now = await nowOf(userId);
      return database.transaction(async (transaction) => {
        const locked = await lockReminder(transaction, { userId, reminderId }, now);
        if (locked === undefined) throw notFound('reminder', reminderId);
        const { now: updateTime, ...before } = locked;
        if (changesNothing(before, changes)) return { reminder: toReminderMessage(before), unchanged: true };
        const settings = { ...before, ...changes };
        const next = isSameTiming(before, settings) ? before.next : nextTurn(settings, updateTime);
        const after = { ...settings, next, updateTime };
        await updateReminder(transaction, after);
        return { reminder: toReminderMessage(after) };
      });
    },

    async DeleteReminder(request) {
      const userId = requireUserId(request.userId);
      const reminderId = requireId('reminder', request.reminderId);
      const deleted = await database.transaction((transaction) =>
        deleteReminder(transaction, userId, reminderId),
      );
      if (!deleted) throw notFound('reminder', reminderId);
      return {};
    },

    async ListReminders(request) {
      const reminders = await listReminders(database, requireUserId(request.userId));
      return { reminders: reminders.map(toReminderMessage) };
    },
  } satisfies Partial<AsyncHandlers<ReminderServiceHandlers>>;
}

/** Whether an update keeps the next turn, even one that has come and is not claimed yet. */
function isSameTiming(before: ReminderSettings, after: ReminderSettings): boolean {
  const timingOf = ({ minuteOfDay, weekdays, isEnabled }: ReminderSettings) =>
    JSON.stringify([minuteOfDay, weekdays, isEnabled]);
  return timingOf(before) === timingOf(after);
}

function tooMany(): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message: `A user has at most ${MAX_REMINDERS} reminders.` });
}

function readChanges(request: UpdateReminderRequest): Partial<ReminderSettings> {
  const { timeOfDay, minDue, onlyIfNotReviewedToday, enabled } = request;
  const weekdays = request.weekdays.length > 0 ? request.weekdays : undefined;
  const channels = request.channels.length > 0 ? request.channels : undefined;
  const pausedUntilTime = request.pausedUntilTime ?? undefined;
  const labels = request.labels.length > 0 ? request.labels : undefined;
  const present = {
    time_of_day: timeOfDay,
    weekdays,
    channels,
    min_due: minDue,
    only_if_not_reviewed_today: onlyIfNotReviewedToday,
    paused_until_time: pausedUntilTime,
    enabled,
    labels,
  };
  const paths = readFieldMask(request.updateMask, present, ['paused_until_time', 'labels']);
  return {
    ...(paths.has('time_of_day') && { minuteOfDay: requireTimeOfDay(timeOfDay ?? '') }),
    ...(paths.has('weekdays') && { weekdays: requireWeekdays(weekdays ?? []) }),
    ...(paths.has('channels') && { channels: requireChannels(channels ?? []) }),
    ...(paths.has('min_due') && { minDue: requireMinDue(minDue ?? 0) }),
    ...(paths.has('only_if_not_reviewed_today') && {
      onlyIfNotReviewedToday: onlyIfNotReviewedToday ?? false,
    }),
    ...(paths.has('paused_until_time') && {
      pausedUntilTime: request.pausedUntilTime && fromTimestamp(request.pausedUntilTime, 'paused_until_time'),
    }),
    ...(paths.has('enabled') && { isEnabled: enabled ?? false }),
    ...(paths.has('labels') && { labels: readLabels('labels', request.labels) ?? [] }),
  };
}

/** Minutes since midnight. */
function requireTimeOfDay(timeOfDay: string): number {
  const [, hour, minute] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(timeOfDay) ?? [];
  if (hour === undefined) {
    throw invalidField('time_of_day', 'must be from 00:00 to 23:59, written as HH:MM.');
  }
  return Number(hour) * 60 + Number(minute);
}

/** ISO numbers, each once, ascending. */
function requireWeekdays(weekdays: readonly Weekday[]): number[] {
  const numbers = weekdays.map((weekday) => {
    const number = WEEKDAYS.indexOf(weekday);
    if (number < 1) throw invalidField('weekdays', 'must hold days of the week only.');
    return number;
  });
  return [...new Set(numbers)].toSorted();
}

function requireChannels(channels: readonly string[]): ChannelName[] {
  const named = new Set(channels.map(fromChannelMessage));
  if (named.size === 0 || named.has(undefined))
    throw invalidField('channels', `must hold one or more of ${ANY_CHANNEL}.`);
  return CHANNEL_NAMES.filter((name) => named.has(name));
}

function requireMinDue(minDue: number): number {
  if (minDue < 1 || minDue > MAX_MIN_DUE) {
    throw invalidField('min_due', `must be from 1 to ${MAX_MIN_DUE}.`);
  }
  return minDue;
}

/** By ISO number. */
const WEEKDAYS: readonly Weekday[] = [
  'WEEKDAY_UNSPECIFIED',
  'WEEKDAY_MONDAY',
  'WEEKDAY_TUESDAY',
  'WEEKDAY_WEDNESDAY',
  'WEEKDAY_THURSDAY',
  'WEEKDAY_FRIDAY',
  'WEEKDAY_SATURDAY',
  'WEEKDAY_SUNDAY',
];

export function toReminderMessage(reminder: Reminder): ReminderInput {
  return {
    reminderId: reminder.reminderId,
    timeOfDay: timeOfDay(reminder.minuteOfDay),
    weekdays: reminder.weekdays.map((weekday) => WEEKDAYS[weekday] ?? 'WEEKDAY_UNSPECIFIED'),
    channels: reminder.channels.map(toChannelMessage),
    minDue: reminder.minDue,
    onlyIfNotReviewedToday: reminder.onlyIfNotReviewedToday,
    pausedUntilTime: toOptionalTimestamp(reminder.pausedUntilTime),
    enabled: reminder.isEnabled,
    labels: [...reminder.labels],
    nextTime: toOptionalTimestamp(reminder.next?.time ?? null),
    createTime: toTimestamp(reminder.createTime),
    updateTime: toTimestamp(reminder.updateTime),
  };
}
