// What learners do in tests of properties, and all that they then see, so that the lives of two can be compared.
import fc from 'fast-check';
import { refusal, type SchedulingClients } from './scheduling.ts';

const KINDS = ['review', 'review', 'review', 'snooze', 'undo', 'spread', 'cancel'] as const;
/** `index`: of the material. `restMs`: until the next step. */
export type Step = { kind: (typeof KINDS)[number]; index: number; quality: number; restMs: number };

const DAY_MS = 86_400_000;
export const step = fc.record<Step>({
  kind: fc.constantFrom(...KINDS),
  index: fc.integer({ min: 0, max: 2 }),
  quality: fc.integer({ min: 0, max: 5 }),
  restMs: fc.integer({ min: 1000, max: 5 * DAY_MS }),
});

/** @returns what the step answers: of an undo and a cancellation, whether it could be done. */
export async function takeStep(
  { reviews, snoozes }: SchedulingClients,
  userId: string,
  materialIds: readonly string[],
  { kind, index, quality }: Step,
): Promise<unknown> {
  const materialId = materialIds[index] ?? '';
  const timeZone = 'Asia/Tokyo';
  if (kind === 'review') {
    const { review } = await reviews.submitReview({ userId, materialId, quality });
    return review?.after;
  }
  if (kind === 'snooze') {
    const preset = 'SNOOZE_PRESET_TOMORROW' as const;
    const { snooze } = await snoozes.snoozeMaterials({ userId, materialIds: [materialId], preset, timeZone });
    return snooze?.snoozeUntilTime;
  }
  if (kind === 'spread') {
    const { days, left } = await snoozes.spreadBacklog({ userId, timeZone, days: 3 });
    return { days, left };
  }
  if (kind === 'undo') {
    const { reviews: all } = await reviews.listReviews({ userId, materialId });
    const reviewId = all.find(({ undoTime }) => undoTime === null)?.reviewId ?? '';
    return refusal(reviews.undoReview({ userId, reviewId }));
  }
  const { snoozes: all } = await snoozes.listSnoozes({ userId });
  const snoozeId = all.find(({ cancelTime }) => cancelTime === null)?.snoozeId ?? '';
  return refusal(snoozes.cancelSnooze({ userId, snoozeId }));
}

/** Lists in their order, without ids and what only tells that something was written, and statistics. */
export async function seenBy({ materials, stats }: SchedulingClients, userId: string) {
  const window = { timeZone: 'Asia/Tokyo', days: 30 };
  const of = { userId, window };
  const [all, due, ...statistics] = await Promise.all([
    materials.listMaterials({ userId }),
    materials.listDueMaterials({ userId }),
    stats.getActivity(of),
    stats.getForecast(of),
    stats.getRetention(of),
    stats.batchGetDueCounts({ userIds: [userId], timeZones: [window.timeZone] }),
  ]);
  return {
    all: all.materials.map(({ materialId: _, revision: _1, updateTime: _2, ...shown }) => shown),
    due: due.materials.map(({ title, nextReviewTime }) => [title, nextReviewTime]),
    statistics: JSON.parse(JSON.stringify(statistics).replaceAll(userId, 'user')),
  };
}
