// Maps a reminder to its message.
import type { ReminderInput } from '../../../generated/reminders/v1/Reminder.ts';
import type { Weekday } from '../../../generated/reminders/v1/Weekday.ts';
import { toOptionalTimestamp, toTimestamp } from '../../platform/protobuf/timestamps.ts';
import type { Reminder } from './reminder.ts';

/** By ISO number. */
export const WEEKDAYS: readonly Weekday[] = [
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
  const { minuteOfDay, byEmail, byPush } = reminder;
  const twoDigits = (value: number) => `${value}`.padStart(2, '0');
  return {
    reminderId: reminder.reminderId,
    timeOfDay: `${twoDigits(Math.floor(minuteOfDay / 60))}:${twoDigits(minuteOfDay % 60)}`,
    weekdays: reminder.weekdays.map((weekday) => WEEKDAYS[weekday] ?? 'WEEKDAY_UNSPECIFIED'),
    channels: [
      ...(byEmail ? (['CHANNEL_EMAIL'] as const) : []),
      ...(byPush ? (['CHANNEL_PUSH'] as const) : []),
    ],
    minDue: reminder.minDue,
    onlyIfNotReviewedToday: reminder.onlyIfNotReviewedToday,
    pausedUntilTime: toOptionalTimestamp(reminder.pausedUntilTime),
    enabled: reminder.isEnabled,
    nextTime: toOptionalTimestamp(reminder.next?.time ?? null),
    createTime: toTimestamp(reminder.createTime),
    updateTime: toTimestamp(reminder.updateTime),
  };
}
