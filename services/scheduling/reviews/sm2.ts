// The SM-2 algorithm. Uses integers only, so that every step is exact.

export type Schedule = {
  /** Ease factor times 100, an integer, at least 130. */
  easeFactorHundredths: number;
  /** Whole days, 0 to 36,500; 0 before the first review. */
  intervalDays: number;
  /** Consecutive reviews graded 3 or better. */
  repetitions: number;
};

export const INITIAL_SCHEDULE: Schedule = { easeFactorHundredths: 250, intervalDays: 0, repetitions: 0 };

export const QUALITIES = [0, 1, 2, 3, 4, 5] as const;
/** 0: blackout, 3: correct with effort, 5: immediate and confident. */
export type Quality = (typeof QUALITIES)[number];

export function isQuality(value: number): value is Quality {
  return QUALITIES.some((quality) => quality === value);
}

const MIN_EASE_FACTOR_HUNDREDTHS = 130;
const MAX_INTERVAL_DAYS = 36_500;
/** The largest int32, the type in the proto and the table. */
const MAX_REPETITIONS = 2_147_483_647;
const DAY_MS = 86_400_000;

/**
 * The schedule after one grade (P. A. Woźniak, "Optimization of learning", 1990, section 3.2, SM-2; docs/decisions.md says where
 * that text is not followed):
 *
 *     q >= 3:  I(1) = 1,  I(2) = 6,  I(n) = round(I(n-1) * EF), halves up, EF as it was before this grade
 *     q <  3:  repetitions = 0, I = 1
 *     always:  EF' = max(1.30, EF + 0.1 - (5 - q) * (0.08 + (5 - q) * 0.02))
 */
export function reviewSchedule(schedule: Schedule, quality: Quality): Schedule {
  const miss = 5 - quality;
  const easeFactorHundredths = Math.max(
    MIN_EASE_FACTOR_HUNDREDTHS,
    schedule.easeFactorHundredths + 10 - miss * (8 + miss * 2),
  );
  if (quality < 3) return { easeFactorHundredths, intervalDays: 1, repetitions: 0 };
  return {
    easeFactorHundredths,
    intervalDays: Math.min(MAX_INTERVAL_DAYS, nextIntervalDays(schedule)),
    repetitions: Math.min(MAX_REPETITIONS, schedule.repetitions + 1),
  };
}

function nextIntervalDays({ repetitions, intervalDays, easeFactorHundredths }: Schedule): number {
  if (repetitions === 0) return 1;
  if (repetitions === 1) return 6;
  return Math.floor((intervalDays * easeFactorHundredths + 50) / 100);
}

/** The schedule after a grade at `reviewTime`, and the next review time. A day is always 86,400 s; daylight-saving changes do not matter. */
export function applyReview(
  schedule: Schedule,
  quality: Quality,
  reviewTime: Date,
): Schedule & { nextReviewTime: Date } {
  const next = reviewSchedule(schedule, quality);
  return { ...next, nextReviewTime: new Date(reviewTime.getTime() + next.intervalDays * DAY_MS) };
}
