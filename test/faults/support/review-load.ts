// Reviews at a steady rate, whatever becomes of those before, each of another material by gRPC.
import { setTimeout as sleep } from 'node:timers/promises';
import { CALL, closeClients, connectScheduling } from '../../support/scheduling.ts';

const PER_SECOND = 50;

/** `materials`: reviewed by turns. */
export function createReviewLoad(port: number, materials: readonly { userId: string; materialId: string }[]) {
  const clients = connectScheduling(port);
  let next = 0;
  const review = async () => {
    const { userId = '', materialId = '' } = materials[next % materials.length] ?? {};
    next += 1;
    const begun = performance.now();
    await clients.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
    return performance.now() - begun;
  };
  return {
    /** Reviews until `until` resolves. @returns how long each took, in milliseconds. @throws if one failed. */
    async during(until: Promise<unknown>): Promise<number[]> {
      let isOver = false;
      const over = until.finally(() => {
        isOver = true;
      });
      const begun = performance.now();
      const reviews: Promise<number>[] = [];
      while (!isOver) {
        reviews.push(review());
        const pauseMs = begun + (reviews.length * 1000) / PER_SECOND - performance.now();
        await Promise.race([over, sleep(Math.max(0, pauseMs))]);
      }
      await over;
      return Promise.all(reviews);
    },
    stop: () => closeClients(clients),
  };
}

/** The value below which so large a `share` lies. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(share * values.length)] ?? 0;
}
