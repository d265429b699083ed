// When a card of Anki is due, and with which numbers. The rules are those of Anki's schedulers 1 to 3.
import { Temporal } from 'temporal-polyfill';
import { type CardSchedule, DEFAULT_EASE_FACTOR, isDueTime, toIntervalDays } from '../card.ts';
import { easeOf, type Log } from './reviews.ts';

/** A card's row. `type`: 0 new, 1 learning, 2 review, 3 relearning. */
export type CardState = {
  type: number;
  queue: number;
  due: number;
  intervalDays: number;
  /** In permille. */
  factor: number;
  /** Of the deck and the due date outside of a filtered deck; 0 where the card is in none. */
  originalDeckId: number;
  originalDue: number;
};

/** A larger number is an instant in seconds, a smaller one a day: as Anki itself tells a suspended card's. */
const FIRST_INSTANT = 1_000_000_000;

/** Days of a collection as instants: the day number of a due date counts from the day on which the collection was made. */
export type Days = (dayNumber: number) => number | undefined;

/**
 * @param createdSeconds when the collection was made
 * @param minutesWest of UTC, where it was made; absent in collections of older versions: that day is then one of `timeZone`
 * @param rolloverHour the hour at which a day begins
 */
export function createDays({
  createdSeconds,
  minutesWest,
  rolloverHour,
  timeZone,
}: {
  createdSeconds: number;
  minutesWest: number | undefined;
  rolloverHour: number;
  timeZone: string;
}): Days {
  const created = Temporal.Instant.fromEpochMilliseconds(createdSeconds * 1000);
  const firstDay =
    minutesWest === undefined
      ? created.toZonedDateTimeISO(timeZone).toPlainDate()
      : created.subtract({ minutes: minutesWest }).toZonedDateTimeISO('UTC').toPlainDate();
  const known = new Map<number, number | undefined>();
  const instantOf = (day: number) => {
    if (Math.abs(day) > MAX_DAYS) return undefined;
    return firstDay.add({ days: day }).toZonedDateTime({ timeZone, plainTime: { hour: rolloverHour } })
      .epochMilliseconds;
  };
  return (day) => {
    if (!known.has(day)) {
      if (known.size > MAX_KNOWN) known.clear();
      known.set(day, instantOf(day));
    }
    return known.get(day);
  };
}

const MAX_DAYS = 3_000_000;
const MAX_KNOWN = 100_000;

/** @returns the schedule, and whether its due date was impossible, so that the card is due at once. */
export function scheduleOf(
  card: CardState,
  log: Log,
  { days, nowMs }: { days: Days; nowMs: number },
): { schedule: CardSchedule; hasBadDue: boolean } {
  const easeFactor = easeOf(card.factor) ?? DEFAULT_EASE_FACTOR;
  if (card.type === 0) return { schedule: { easeFactor, intervalDays: 0, repetitions: 0 }, hasBadDue: false };
  const intervalDays = toIntervalDays(card.intervalDays);
  const repetitions = log.lastReviewMs === undefined ? (intervalDays > 0 ? 2 : 0) : log.repetitions;
  const due = card.originalDeckId !== 0 && card.originalDue !== 0 ? card.originalDue : card.due;
  const dueMs = due >= FIRST_INSTANT ? due * 1000 : days(due);
  const isGood = dueMs !== undefined && isDueTime(dueMs, nowMs);
  return {
    schedule: { easeFactor, intervalDays, repetitions, dueMs: isGood ? dueMs : undefined },
    hasBadDue: !isGood,
  };
}
