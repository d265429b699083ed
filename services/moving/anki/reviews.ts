// Anki's review log as reviews.
import {
  type CardReview,
  type CardSchedule,
  DEFAULT_EASE_FACTOR,
  isPast,
  MS_OF_DAY,
  toEaseFactor,
  toIntervalDays,
} from '../card.ts';

/** A row of the log. `ease`: the button, 1 to 4. Intervals: days, or seconds where negative. `factor`: permille. */
export type LogRow = {
  id: number;
  ease: number;
  interval: number;
  lastInterval: number;
  factor: number;
  type: number;
};

const [LEARN, RELEARN, FILTERED, MANUAL] = [0, 2, 3, 4];

/** What the log of one card says. `leftOut`: how many rows, by the reason. */
export type Log = {
  reviews: CardReview[];
  /** Passes since the latest lapse or new beginning. */
  repetitions: number;
  /** Of the latest since a new beginning; undefined: there is none. */
  lastReviewMs: number | undefined;
  leftOut: ReadonlyMap<string, number>;
};

/**
 * The rows of one card, oldest first. The button becomes the quality, 2 for "again" to 5 for "easy". A row that is no answer is left
 * out; one that resets the card begins its history anew. Version 1 of the scheduler gave learning cards three buttons.
 */
export function readLog(rows: Iterable<LogRow>, { schedulerVersion, nowMs }: LogContext): Log {
  const reviews: CardReview[] = [];
  const leftOut = new Map<string, number>();
  let state: CardSchedule = NEW_CARD;
  let lastReviewMs: number | undefined;
  for (const row of rows) {
    if (row.type === MANUAL && row.factor === 0) {
      state = NEW_CARD;
      lastReviewMs = undefined;
    }
    const reason = reasonToLeave(row, nowMs);
    if (reason !== undefined) {
      leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1);
      continue;
    }
    const quality = qualityOf(row, schedulerVersion);
    const after = stateAfter(row, state, quality);
    const before = {
      ...state,
      intervalDays: toIntervalDays(row.lastInterval),
      // A failure is a lapse only where repetitions stand before it, and in Anki only in review.
      repetitions: isLearning(row) ? 0 : state.repetitions,
    };
    reviews.push({ id: `${row.id}`, timeMs: row.id, quality, before, after });
    state = after;
    lastReviewMs = row.id;
  }
  return { reviews, repetitions: state.repetitions, lastReviewMs, leftOut };
}

type LogContext = { schedulerVersion: number; nowMs: number };

const NEW_CARD: CardSchedule = { easeFactor: DEFAULT_EASE_FACTOR, intervalDays: 0, repetitions: 0 };

function reasonToLeave({ id, ease, factor, type }: LogRow, nowMs: number): string | undefined {
  if (ease === 0 || (type === MANUAL && factor === 0)) return 'no answer: the card was rescheduled by hand';
  if (type === FILTERED && factor === 0) return 'practice in a filtered deck that does not reschedule';
  if (!Number.isInteger(ease) || ease < 1 || ease > 4) return 'the button is none of the four';
  if (!isPast(id, nowMs)) return 'its time is before 1970 or in the future';
  return undefined;
}

/** Version 1 of the scheduler had "good" and "easy" as 2 and 3 while learning. */
function qualityOf(row: LogRow, schedulerVersion: number): number {
  const { ease } = row;
  const hasThreeButtons = schedulerVersion === 1 && isLearning(row);
  const button = hasThreeButtons && (ease === 2 || ease === 3) ? ease + 1 : ease;
  return button + 1;
}

const isLearning = ({ type }: LogRow) => type === LEARN || type === RELEARN;

const LOWEST_PASS = 3;

function stateAfter(row: LogRow, before: CardSchedule, quality: number): CardSchedule {
  const waitMs =
    row.interval > 0 ? toIntervalDays(row.interval) * MS_OF_DAY : Math.min(MS_OF_DAY, -row.interval * 1000);
  return {
    easeFactor: easeOf(row.factor) ?? before.easeFactor,
    intervalDays: toIntervalDays(row.interval),
    repetitions: quality < LOWEST_PASS ? 0 : before.repetitions + 1,
    dueMs: row.id + waitMs,
  };
}

/** Undefined for what is no ease factor: 0 while learning, a difficulty of 100 to 1,100 with FSRS. */
export function easeOf(permille: number): number | undefined {
  return permille > MAX_DIFFICULTY ? toEaseFactor(permille / 1000) : undefined;
}

const MAX_DIFFICULTY = 1100;
