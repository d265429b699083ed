// Maps between GraphQL values and the services' messages.
import type {
  EmailOffReason,
  IntervalBand,
  MaterialState,
  MaterialType,
  Plan,
  ReminderChannel,
  ReminderDeliveryState,
  ReminderSkipReason,
  SnoozePreset,
  Weekday,
} from '../../generated/gateway/resolvers.ts';
import { epochMsOf, type Timestamp, toTimestamp } from '../../services/platform/protobuf/timestamps.ts';

type Prefixed<P extends string, T extends string> = `${P}_${T}`;

// Proto enum values are GraphQL's with the type name as a prefix.
export const toMaterialType = <T extends MaterialType>(type: T): Prefixed<'MATERIAL_TYPE', T> =>
  `MATERIAL_TYPE_${type}`;
export const toMaterialState = <T extends MaterialState>(state: T): Prefixed<'MATERIAL_STATE', T> =>
  `MATERIAL_STATE_${state}`;
export const toPlan = <T extends Plan>(plan: T): Prefixed<'PLAN', T> => `PLAN_${plan}`;
export const toSnoozePreset = <T extends SnoozePreset>(preset: T): Prefixed<'SNOOZE_PRESET', T> =>
  `SNOOZE_PRESET_${preset}`;

const withoutPrefix =
  <T extends string>(prefix: string, values: readonly T[]) =>
  (message: string): T => {
    const value = values.find((candidate) => message === `${prefix}_${candidate}`);
    if (value === undefined) throw new Error(`a service returned an unknown value ${message}`);
    return value;
  };
export const fromMaterialType = withoutPrefix<MaterialType>('MATERIAL_TYPE', [
  'SIMPLE',
  'MATERIAL',
  'FLASHCARD',
  'CARD',
]);
export const fromPlan = withoutPrefix<Plan>('PLAN', ['FREE', 'PREMIUM']);
export const fromIntervalBand = withoutPrefix<IntervalBand>('INTERVAL_BAND', [
  'NEW',
  'DAYS_1_TO_6',
  'DAYS_7_TO_20',
  'DAYS_21_TO_89',
  'DAYS_90_AND_MORE',
]);

export const toWeekday = <T extends Weekday>(weekday: T): Prefixed<'WEEKDAY', T> => `WEEKDAY_${weekday}`;
export const toReminderChannel = <T extends ReminderChannel>(channel: T): Prefixed<'CHANNEL', T> =>
  `CHANNEL_${channel}`;
export const fromWeekday = withoutPrefix<Weekday>('WEEKDAY', [
  'MONDAY',
  'TUESDAY',
  'WEDNESDAY',
  'THURSDAY',
  'FRIDAY',
  'SATURDAY',
  'SUNDAY',
]);
export const fromReminderChannel = withoutPrefix<ReminderChannel>('CHANNEL', ['EMAIL', 'PUSH']);
export const fromDeliveryState = withoutPrefix<ReminderDeliveryState>('DELIVERY_STATE', [
  'PENDING',
  'SENT',
  'SKIPPED',
  'FAILED',
]);
export const fromSkipReason = withoutPrefix<ReminderSkipReason>('SKIP_REASON', [
  'NOTHING_DUE',
  'ALREADY_REVIEWED',
  'PAUSED',
  'LATE',
]);
export const fromEmailOffReason = withoutPrefix<EmailOffReason>('EMAIL_OFF_REASON', [
  'SWITCHED_OFF',
  'UNSUBSCRIBED',
  'REFUSED',
]);

/** Milliseconds, which DateTime serializes. */
export const toTime = (timestamp: Timestamp | null): number => epochMsOf(timestamp, 'a time');
export const toOptionalTime = (timestamp: Timestamp | null): number | null =>
  timestamp === null ? null : epochMsOf(timestamp, 'a time');
export const fromTime = toTimestamp;

/** The same rule as in scheduling's SQL, in milliseconds: a material without a next review is due. */
export function isDue(nextReviewMs: number | null, nowMs: number): boolean {
  return nextReviewMs === null || nextReviewMs <= nowMs;
}

/** The mask of an update, from values by the paths of the protocol: an explicit null removes the value. */
export function maskOf(values: Readonly<Record<string, unknown>>): { paths: string[] } {
  return { paths: Object.keys(values).filter((path) => values[path] !== undefined) };
}

/** A required message of a response. @throws Error if the service omitted it. */
export function required<T>(message: T | null): T {
  if (message === null) throw new Error('a service omitted a required message');
  return message;
}
