// What a review costs PostgreSQL: the statement that the service issues, over learners in turn, at the size that the log has.

import type { Quality } from '../../../services/scheduling/reviews/sm2.ts';
import { applyReviews } from '../../../services/scheduling/reviews/sql.ts';
import { createRandom } from '../dataset/words.ts';
import { END_MS, type Learner, newId } from './history.ts';
import { SAFE, type Server } from './server.ts';

export type WriteCost = {
  cpuUs: number;
  /** Of changes alone, as it is long after a checkpoint. */
  walBytes: number;
  /** Right after a checkpoint: the first change of a page writes the whole page. */
  walBytesAfterCheckpoint: number;
  /** The same with wal_compression, by the method named. */
  walBytesCompressed: number;
  compression: string;
};

const REVIEWS = 10_000;
const DAY_MS = 86_400_000;

export async function measureWrites(server: Server, learners: readonly Learner[]): Promise<WriteCost> {
  const run = () => server.cost(() => reviewOneByOne(server, learners));
  await server.client.query('SET synchronous_commit = off');
  const fresh = async (settings: Readonly<Record<string, string>>) => {
    await server.set({ ...SAFE, ...settings });
    await server.client.query('CHECKPOINT');
    return run();
  };
  const withImages = await fresh({});
  // Not every build has lz4.
  const { rows } = await server.client.query<{ has: boolean }>(
    `SELECT 'lz4' = ANY(enumvals) AS has FROM pg_settings WHERE name = 'wal_compression'`,
  );
  const compression = rows[0]?.has === true ? 'lz4' : 'pglz';
  const compressed = await fresh({ wal_compression: compression });
  const changes = await fresh({ wal_compression: 'off', full_page_writes: 'off' });
  await server.set(SAFE);
  return {
    cpuUs: (changes.cpuMs * 1000) / REVIEWS,
    walBytes: changes.walBytes / REVIEWS,
    walBytesAfterCheckpoint: withImages.walBytes / REVIEWS,
    walBytesCompressed: compressed.walBytes / REVIEWS,
    compression,
  };
}

let reviewsMade = 0;

async function reviewOneByOne({ db }: Server, learners: readonly Learner[]): Promise<void> {
  const random = createRandom(reviewsMade + 1);
  for (let count = 0; count < REVIEWS; count += 1) {
    reviewsMade += 1;
    const timeMs = END_MS + reviewsMade;
    const learner = learners[Math.floor(random() * learners.length)];
    const place = Math.floor(random() * (learner?.materialIds.length ?? 0));
    const revision = (learner?.revisions[place] ?? 0) + 1;
    const review = {
      reviewId: newId(timeMs, random),
      materialId: learner?.materialIds[place] ?? '',
      // 3, 4 or 5.
      quality: (3 + (count % 3)) as Quality,
      reviewTime: new Date(timeMs),
      requestId: newId(timeMs, random),
      before: {
        easeFactorHundredths: 236,
        intervalDays: 95,
        repetitions: 5,
        nextReviewTime: new Date(timeMs),
      },
      after: {
        ...{ easeFactorHundredths: 236, intervalDays: 95, repetitions: 6 },
        nextReviewTime: new Date(timeMs + 95 * DAY_MS),
      },
      revision,
    };
    const userId = learner?.userId ?? '';
    const [applied] = await applyReviews(db, [{ userId, review, traceparent: undefined }]);
    if (!applied) throw new Error('a review met another revision than it should have');
    if (learner !== undefined) learner.revisions[place] = revision;
  }
}
