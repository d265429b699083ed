// The rpcs of reminders.v1.ReminderService for reminders.
import type { ReminderServiceHandlers } from '../../../generated/reminders/v1/ReminderService.ts';
import type { UpdateReminderRequest } from '../../../generated/reminders/v1/UpdateReminderRequest.ts';
import { ServiceError } from '../../platform/errors.ts';
import { readFieldMask } from '../../platform/field-mask.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { fromTimestamp } from '../../platform/protobuf/timestamps.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound, requireId, requireUserId } from '../requests.ts';
import { writeForUser } from '../users/locked-user.ts';
import { nextTurn, type Reminder, type ReminderSettings } from './reminder.ts';
import { toReminderMessage } from './reminder-mapper.ts';
import {
  EVERY_DAY,
  requireChannels,
  requireMinDue,
  requireTimeOfDay,
  requireWeekdays,
} from './reminder-requests.ts';
import {
  countReminders,
  deleteReminder,
  insertReminder,
  listReminders,
  lockReminder,
  updateReminder,
} from './reminders-repository.ts';

const MAX_REMINDERS = 10;

export function createReminderHandlers(
  dependencies: Dependencies,
): Pick<
  AsyncHandlers<ReminderServiceHandlers>,
  'CreateReminder' | 'UpdateReminder' | 'DeleteReminder' | 'ListReminders'
> {
  const { database, now, newId } = dependencies;
  return {
    async CreateReminder(request) {
      const userId = requireUserId(request.userId);
      const settings: ReminderSettings = {
        minuteOfDay: requireTimeOfDay(request.timeOfDay),
        weekdays: request.weekdays.length > 0 ? requireWeekdays(request.weekdays) : EVERY_DAY,
        ...requireChannels(request.channels),
        minDue: requireMinDue(request.minDue ?? 1),
        onlyIfNotReviewedToday: request.onlyIfNotReviewedToday,
        pausedUntilTime: request.pausedUntilTime && fromTimestamp(request.pausedUntilTime),
        isEnabled: request.enabled ?? true,
      };
      const reminder = await writeForUser(dependencies, userId, async (transaction, _, { timeZone }) => {
        if ((await countReminders(transaction, userId)) >= MAX_REMINDERS) throw tooMany();
        const createTime = now();
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
      const reminder = await database.transaction(async (transaction) => {
        const before = await lockReminder(transaction, userId, reminderId);
        if (before === undefined) throw notFound('reminder', reminderId);
        const updateTime = now();
        const settings = { ...before, ...changes };
        const next = isSameTiming(before, settings) ? before.next : nextTurn(settings, updateTime);
        const after = { ...settings, next, updateTime };
        await updateReminder(transaction, after);
        return after;
      });
      return { reminder: toReminderMessage(reminder) };
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
  };
}

/** Then its next turn stays, also one that has come and is still to be claimed. */
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
  const present = {
    time_of_day: timeOfDay,
    weekdays,
    channels,
    min_due: minDue,
    only_if_not_reviewed_today: onlyIfNotReviewedToday,
    paused_until_time: pausedUntilTime,
    enabled,
  };
  const kept = [
    'time_of_day',
    'weekdays',
    'channels',
    'min_due',
    'only_if_not_reviewed_today',
    'enabled',
  ] as const;
  const paths = readFieldMask(request.updateMask, present, kept);
  return {
    ...(paths.has('time_of_day') && { minuteOfDay: requireTimeOfDay(timeOfDay ?? '') }),
    ...(paths.has('weekdays') && { weekdays: requireWeekdays(weekdays ?? []) }),
    ...(paths.has('channels') && requireChannels(channels ?? [])),
    ...(paths.has('min_due') && { minDue: requireMinDue(minDue ?? 0) }),
    ...(paths.has('only_if_not_reviewed_today') && {
      onlyIfNotReviewedToday: onlyIfNotReviewedToday ?? false,
    }),
    ...(paths.has('paused_until_time') && {
      pausedUntilTime: request.pausedUntilTime && fromTimestamp(request.pausedUntilTime),
    }),
    ...(paths.has('enabled') && { isEnabled: enabled ?? false }),
  };
}
