// The SM-2 algorithm, its grades, and the schedule that it keeps of a material, as every other scheduler does. Uses integers only, so
// that every step is exact.

export const QUALITIES = [0, 1, 2, 3, 4, 5] as const;
/** 0: blackout, 3: correct with effort, 5: immediate and confident. */
export type Quality = (typeof QUALITIES)[number];

export function isQuality(value: number): value is Quality {
  return QUALITIES.some((quality) => quality === value);
}

/** Graded 3 or better. */
export function isRecalled(quality: Quality): boolean {
  return quality >= 3;
}

/** In SM-2's terms, which stay true whatever scheduler sets the interval. */
export type Schedule = {
  /** Ease factor times 100, an integer, at least 130. */
  easeFactorHundredths: number;
  /** Whole days, 0 to 36,500; 0 before the first review. */
  intervalDays: number;
  /** Consecutive reviews graded 3 or better. */
  repetitions: number;
};

/** A schedule and the next review time; null: due now. */
export type ScheduleAt = Schedule & { nextReviewTime: Date | null };

export const INITIAL_SCHEDULE: Schedule = { easeFactorHundredths: 250, intervalDays: 0, repetitions: 0 };

export const MIN_EASE_FACTOR_HUNDREDTHS = 130;
export const MAX_INTERVAL_DAYS = 36_500;
/** The largest int32, the type in the proto and the table. */
export const MAX_REPETITIONS = 2_147_483_647;

/**
 * The schedule after one grade (P. A. Woźniak, "Optimization of learning", 1990, section 3.2, SM-2; docs/decisions.md says where
 * that text is not followed):
 *
 *     q >= 3:  I(1) = 1,  I(2) = 6,  I(n) = round(I(n-1) * EF), halves up, EF as it was before this grade
 *     q <  3:  repetitions = 0, I = 1
 *     always:  EF' = max(1.30, EF + 0.1 - (5 - q) * (0.08 + (5 - q) * 0.02))
 *
 * Another program or scheduler can leave a short interval after several repetitions. I(n) is then at least I(n-1) + 1: rounded, 0 days
 * and 1 day could stay as they are for ever. From I(2) = 6 on, the formula alone gives more.
 */
export function reviewSchedule(schedule: Schedule, quality: Quality): Schedule {
  const miss = 5 - quality;
  const easeFactorHundredths = Math.max(
    MIN_EASE_FACTOR_HUNDREDTHS,
    schedule.easeFactorHundredths + 10 - miss * (8 + miss * 2),
  );
  if (!isRecalled(quality)) return { easeFactorHundredths, intervalDays: 1, repetitions: 0 };
  return {
    easeFactorHundredths,
    intervalDays: Math.min(MAX_INTERVAL_DAYS, nextIntervalDays(schedule)),
    repetitions: Math.min(MAX_REPETITIONS, schedule.repetitions + 1),
  };
}

function nextIntervalDays({ repetitions, intervalDays, easeFactorHundredths }: Schedule): number {
  if (repetitions === 0) return 1;
  if (repetitions === 1) return 6;
  return Math.max(intervalDays + 1, Math.floor((intervalDays * easeFactorHundredths + 50) / 100));
}
