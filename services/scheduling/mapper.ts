// Mapping helpers that all capabilities share.
import { invalidField } from '../platform/errors.ts';
import type { Schedule } from './reviews/sm2.ts';

/** The level of detail of list items. */
export type View = 'basic' | 'full';

/**
 * A function from the messages of the enum `field` of requests to their values. It throws INVALID_REQUEST for a number outside the
 * enum, which the proto loader does not refuse.
 */
export const fromEnum =
  <M extends string, T>(field: string, values: Record<M, T>) =>
  (message: M): T => {
    if (!Object.hasOwn(values, message)) throw invalidField(field, 'is not one of its values.');
    return values[message];
  };

/** An integer divided by 100 is the double nearest to the decimal, so 236 becomes 2.36 exactly as printed. */
export function toScheduleNumbers({ easeFactorHundredths, intervalDays, repetitions }: Schedule) {
  return { easeFactor: easeFactorHundredths / 100, intervalDays, repetitions };
}
