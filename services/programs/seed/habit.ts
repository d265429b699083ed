// How a learner studies: on most days, at about the same time, with breaks.
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Days count back from now: 0 is the latest, and earlier days are higher. */
export type Habit = {
  nowMs: number;
  /** The chance to recall what is due, 0.83 to 0.95. */
  recall: number;
  /** Longer intervals are reviewed early, which SM-2 allows, so that there are as many reviews as asked for. */
  longestWaitDays: number;
  /** The day on which a material that is due on `day` is reviewed; undefined if it still waits. */
  nextDay(day: number): number | undefined;
  /** An instant within the session of `day`. */
  timeOf(day: number): number;
};

/** Draws the days of study of the last `days` days; none if not `isStudying`. */
export function drawHabit(options: {
  nowMs: number;
  days: number;
  longestWaitDays: number;
  isStudying: boolean;
}): Habit {
  const { nowMs, days, longestWaitDays, isStudying } = options;
  const [recall, streakDays] = [0.83 + 0.12 * Math.random(), 5 + 35 * Math.random()];
  /** The chance that what is due is reviewed on a day of study; the rest waits for the next. */
  const diligence = 0.8 + 0.2 * Math.random();
  const sessionMs = (60 + 60 * 20 * Math.random()) * MINUTE_MS;
  const studied: boolean[] = [];
  let breakDays = Math.random() < 0.1 ? 2 + Math.floor(8 * Math.random()) : 0;
  for (let day = 0; day <= days; day += 1) {
    studied.push(isStudying && breakDays === 0);
    if (breakDays > 0) breakDays -= 1;
    else if (Math.random() < 1 / streakDays)
      breakDays = Math.random() < 0.1 ? 10 : 1 + Math.floor(3 * Math.random());
  }
  return {
    ...{ nowMs, recall, longestWaitDays },
    nextDay(from) {
      for (let day = Math.floor(Math.min(from, days)); day >= 0; day -= 1)
        if (studied[day] && Math.random() < diligence) return day;
      return undefined;
    },
    timeOf: (day) =>
      Math.floor(nowMs - (Math.floor(day) + 1) * DAY_MS + sessionMs + 20 * MINUTE_MS * Math.random()),
  };
}

/**
 * The history over which materials start evenly, so that each is reviewed about `reviews` times, and the longest wait between
 * reviews. Fitted to SM-2 with a recall of 0.88: six reviews in the first weeks, and one each longest wait after that.
 */
export function historyFor(reviews: number): { days: number; longestWaitDays: number } {
  const longestWaitDays = Math.max(1, Math.min(60, Math.floor(600 / Math.max(1, reviews))));
  const days = reviews <= 6 ? 3 * reviews ** 2 : 108 + 1.3 * longestWaitDays * (reviews - 6);
  return { days: Math.ceil(Math.max(7, days)), longestWaitDays };
}
