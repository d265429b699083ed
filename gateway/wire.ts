// Translates between the values of GraphQL and the messages of the services.
import type {
  IntervalBand,
  MaterialState,
  MaterialType,
  Plan,
  SnoozePreset,
} from '../generated/gateway/resolvers.ts';
import { epochMsOf, type Timestamp, toTimestamp } from '../services/platform/timestamps.ts';

type Prefixed<P extends string, T extends string> = `${P}_${T}`;

// The protos' values are GraphQL's with the name of their type in front.
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
    if (value === undefined) throw new Error(`a service answered the unknown value ${message}`);
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

/** In milliseconds, as DateTime is answered. */
export const toTime = (timestamp: Timestamp | null): number => epochMsOf(timestamp, 'a time');
export const toOptionalTime = (timestamp: Timestamp | null): number | null =>
  timestamp === null ? null : epochMsOf(timestamp, 'a time');
export const fromTime = toTimestamp;

/** A message that an answer must hold. @throws Error where the service broke its contract. */
export function required<T>(message: T | null): T {
  if (message === null) throw new Error('a service left out a message that it has to answer');
  return message;
}
