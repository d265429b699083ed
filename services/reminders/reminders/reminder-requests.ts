// Validates the settings of a reminder as the proto documents; each error names its field.
import type { Channel } from '../../../generated/reminders/v1/Channel.ts';
import type { Weekday } from '../../../generated/reminders/v1/Weekday.ts';
import { invalidField } from '../../platform/errors.ts';
import type { ReminderSettings } from './reminder.ts';
import { WEEKDAYS } from './reminder-mapper.ts';

const MAX_MIN_DUE = 1000;

/** ISO numbers. */
export const EVERY_DAY: readonly number[] = [1, 2, 3, 4, 5, 6, 7];

/** Minutes since midnight. */
export function requireTimeOfDay(timeOfDay: string): number {
  const [, hour, minute] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(timeOfDay) ?? [];
  if (hour === undefined) {
    throw invalidField('time_of_day', 'must be from 00:00 to 23:59, written as HH:MM.');
  }
  return Number(hour) * 60 + Number(minute);
}

/** ISO numbers, each once, ascending. */
export function requireWeekdays(weekdays: readonly Weekday[]): number[] {
  const numbers = weekdays.map((weekday) => {
    const number = WEEKDAYS.indexOf(weekday);
    if (number < 1) throw invalidField('weekdays', 'must hold days of the week only.');
    return number;
  });
  return [...new Set(numbers)].toSorted();
}

/** @throws INVALID_REQUEST, field `channels`, for none and for one that is not a channel. */
export function requireChannels(channels: readonly Channel[]): Pick<ReminderSettings, 'byEmail' | 'byPush'> {
  const isChannel = (channel: Channel) => channel === 'CHANNEL_EMAIL' || channel === 'CHANNEL_PUSH';
  if (channels.length === 0 || !channels.every(isChannel)) {
    throw invalidField('channels', 'must hold CHANNEL_EMAIL, CHANNEL_PUSH or both.');
  }
  return { byEmail: channels.includes('CHANNEL_EMAIL'), byPush: channels.includes('CHANNEL_PUSH') };
}

export function requireMinDue(minDue: number): number {
  if (minDue < 1 || minDue > MAX_MIN_DUE) {
    throw invalidField('min_due', `must be from 1 to ${MAX_MIN_DUE}.`);
  }
  return minDue;
}
