// What every scheduler keeps of a material, and the grades that it is given.

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

export const MAX_INTERVAL_DAYS = 36_500;

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
