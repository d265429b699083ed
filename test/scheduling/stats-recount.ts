// The statistics again, counted the slow way from plain rows: the oracle that the SQL is held against.
import { Temporal } from 'temporal-polyfill';

export type ReviewFact = { materialId: string; time: number; quality: number; beforeIntervalDays: number };
export type MaterialFact = {
  materialId: string;
  easeFactorHundredths: number;
  intervalDays: number;
  nextReviewTime: number | null;
  isArchived: boolean;
};
export type Facts = { materials: MaterialFact[]; reviews: ReviewFact[] };
export type Window = { timeZone: string; asOf: number; days: number };

const BANDS = [
  'INTERVAL_BAND_NEW',
  'INTERVAL_BAND_DAYS_1_TO_6',
  'INTERVAL_BAND_DAYS_7_TO_20',
  'INTERVAL_BAND_DAYS_21_TO_89',
  'INTERVAL_BAND_DAYS_90_AND_MORE',
];
const bandOf = (days: number) =>
  BANDS[days === 0 ? 0 : days <= 6 ? 1 : days <= 20 ? 2 : days <= 89 ? 3 : 4] ?? '';

function dateOf(time: number, timeZone: string): Temporal.PlainDate {
  return Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timeZone).toPlainDate();
}

function datesOf({ timeZone, asOf, days }: Window, direction: 1 | -1): string[] {
  const today = dateOf(asOf, timeZone);
  const dates = Array.from({ length: days }, (_, index) => today.add({ days: direction * index }).toString());
  return direction === 1 ? dates : dates.toReversed();
}

const active = ({ materials }: Facts) => materials.filter(({ isArchived }) => !isArchived);
const inWindow = ({ reviews }: Facts, window: Window) => {
  const dates = new Set(datesOf(window, -1));
  return reviews.filter(
    ({ time }) => time <= window.asOf && dates.has(dateOf(time, window.timeZone).toString()),
  );
};
const recall = (reviews: ReviewFact[]) => {
  const recalled = reviews.filter(({ quality }) => quality >= 3).length;
  const { length } = reviews;
  return { reviews: length, recalled, ...(length > 0 && { retention: recalled / length }) };
};

export function forecast(facts: Facts, window: Window) {
  const today = datesOf(window, 1)[0] ?? '';
  const due = active(facts).map(({ nextReviewTime }) =>
    nextReviewTime === null ? today : dateOf(nextReviewTime, window.timeZone).toString(),
  );
  return {
    overdue: due.filter((date) => date < today).length,
    dueNow: active(facts).filter(({ nextReviewTime }) => (nextReviewTime ?? 0) <= window.asOf).length,
    days: datesOf(window, 1).map((date) => ({ date, count: due.filter((other) => other === date).length })),
  };
}

export function activity(facts: Facts, window: Window) {
  const dates = facts.reviews
    .filter(({ time }) => time <= window.asOf)
    .map(({ time }) => dateOf(time, window.timeZone).toString());
  const reviewed = new Set(dates);
  const streakUpTo = (date: Temporal.PlainDate) => {
    let length = 0;
    while (reviewed.has(date.subtract({ days: length }).toString())) length += 1;
    return length;
  };
  const today = dateOf(window.asOf, window.timeZone);
  return {
    days: datesOf(window, -1).map((date) => ({
      date,
      count: dates.filter((other) => other === date).length,
    })),
    currentStreakDays: streakUpTo(today) || streakUpTo(today.subtract({ days: 1 })),
    longestStreakDays: Math.max(0, ...[...reviewed].map((date) => streakUpTo(Temporal.PlainDate.from(date)))),
  };
}

export function retention(facts: Facts, window: Window) {
  const reviews = inWindow(facts, window);
  return {
    total: recall(reviews),
    bands: BANDS.map((band) => ({
      band,
      count: recall(reviews.filter(({ beforeIntervalDays }) => bandOf(beforeIntervalDays) === band)),
    })),
    days: datesOf(window, -1).map((date) => ({
      date,
      count: recall(reviews.filter(({ time }) => dateOf(time, window.timeZone).toString() === date)),
    })),
  };
}

export function distributions(facts: Facts, window: Window) {
  const materials = active(facts);
  const tenths = materials.map(({ easeFactorHundredths }) => Math.floor(easeFactorHundredths / 10));
  const easeFactors = [];
  for (let tenth = Math.min(...tenths); tenth <= Math.max(...tenths); tenth += 1) {
    easeFactors.push({ easeFactor: tenth / 10, count: tenths.filter((other) => other === tenth).length });
  }
  const grades = inWindow(facts, window).map(({ quality }) => quality);
  return {
    easeFactors,
    intervals: BANDS.map((band) => ({
      band,
      count: materials.filter(({ intervalDays }) => bandOf(intervalDays) === band).length,
    })),
    grades: [0, 1, 2, 3, 4, 5].map((quality) => ({
      quality,
      count: grades.filter((grade) => grade === quality).length,
    })),
  };
}

export function hardest(facts: Facts, window: Window, minReviews: number) {
  const reviews = inWindow(facts, window);
  return active(facts)
    .map(({ materialId }) => ({
      materialId,
      count: recall(reviews.filter((review) => review.materialId === materialId)),
    }))
    .filter(({ count }) => count.reviews >= minReviews)
    .toSorted(
      (a, b) =>
        a.count.recalled * b.count.reviews - b.count.recalled * a.count.reviews ||
        b.count.reviews - a.count.reviews ||
        (a.materialId < b.materialId ? -1 : 1),
    );
}
