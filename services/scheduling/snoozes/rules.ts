// What a snooze is, until when its presets last in the user's time zone, and what it does to a next review time.
// The package exports the runtime's Temporal if it exists, else its polyfill.
import { Temporal } from 'temporal-polyfill';

/** The values of the enum in the proto, in camelCase. */
export const SNOOZE_PRESETS = ['oneHour', 'tonight', 'tomorrow'] as const;
export type SnoozePreset = (typeof SNOOZE_PRESETS)[number];

/** The local times of the presets, documented for callers at SnoozePreset in the proto. */
const HOUR = { seconds: 3600 };
const TONIGHT = Temporal.PlainTime.from('20:00');
const TOMORROW = Temporal.PlainTime.from('09:00');

/**
 * "tonight" is strictly after `now`, so at 20:00 it is the next day's. A local time skipped by a clock change moves later by the
 * size of the change; of a repeated one, the earlier counts.
 * `timeZone` is an IANA name. @throws RangeError for an invalid name, except with "oneHour".
 */
export function resolvePreset(preset: SnoozePreset, now: Date, timeZone: string): Date {
  const instant = Temporal.Instant.fromEpochMilliseconds(now.getTime());
  const at = (days: number, plainTime: Temporal.PlainTime) => {
    const day = instant.toZonedDateTimeISO(timeZone).toPlainDate().add({ days });
    return toDate(day.toZonedDateTime({ timeZone, plainTime }).toInstant());
  };
  switch (preset) {
    case 'oneHour':
      return toDate(instant.add(HOUR));
    case 'tonight': {
      const tonight = at(0, TONIGHT);
      return tonight > now ? tonight : at(1, TONIGHT);
    }
    case 'tomorrow':
      return at(1, TOMORROW);
  }
}

function toDate(instant: Temporal.Instant): Date {
  return new Date(instant.epochMilliseconds);
}

/** A snooze postpones a review and never brings it forward. */
export function snoozedNextReviewTime(nextReviewTime: Date | null, snoozeUntilTime: Date, now: Date): Date {
  const dueTime = nextReviewTime ?? now;
  return dueTime > snoozeUntilTime ? dueTime : snoozeUntilTime;
}

export type Snooze = {
  snoozeId: string;
  snoozeUntilTime: Date;
  /** Empty if none was given. */
  reason: string;
  createTime: Date;
  /** A program, or a program and a person; empty in snoozes from before it was stored. */
  actor: string;
  /** Of the key that the request came with; null where there was none. */
  apiKeyId: string | null;
  requestId: string;
  /** Over how many days it spread its materials, each until a day of its own; null: all until one instant. */
  spreadDays: number | null;
};

/** The effect of a snooze on one material. */
export type SnoozedMaterial = {
  materialId: string;
  beforeNextReviewTime: Date | null;
  afterNextReviewTime: Date;
  /** The material's revision after the snooze. */
  revision: number;
};

/** Whether the snooze made it due later. */
export const isMoved = ({
  beforeNextReviewTime: before,
  afterNextReviewTime: after,
}: SnoozedMaterial): boolean => before === null || before < after;

export type ListedSnooze = Snooze & {
  /** In the order of the request; at most the first 100. */
  materialIds: string[];
  materialCount: number;
  cancelTime: Date | null;
  /** How many of the materials still wait because of it. */
  cancellableMaterials: number;
  /** How many of them it made due later. */
  movedMaterials: number;
};
