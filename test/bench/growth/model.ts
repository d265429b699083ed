// The model of growth: from what one request and one row cost to machines for so many learners. Pure.
import type { CpuOf, Figures } from './figures.ts';

/** What is assumed and not measured; change it for a service of your own. */
export const ASSUMED = {
  reviewsADay: 20,
  /** One list for five reviews. */
  dueListsADay: 4,
  /** The busiest hour against the mean: learners of one region learn within six hours. */
  peakFactor: 4,
  /** Materials that a learner has after a year; each is then reviewed about eight times in it. */
  materialsOfLearner: 900,
  cores: 16,
  diskBytes: 8e12,
  /** At the peak no machine is busier, so that the others can take over from one that fails. */
  busyAtMost: 0.5,
  fullAtMost: 0.6,
  /** What a standby and an archive keep up with over a shared gigabit. */
  walBytesASecond: 100e6,
  coreDollarsAMonth: 30,
  terabyteDollarsAMonth: 80,
} as const;

export type Need = {
  learners: number;
  peakReviewsASecond: number;
  peakListsASecond: number;
  bytesAYear: number;
  /** Machines as fractions, before rounding up, by what would ask for them. */
  services: number;
  postgresByDisk: number;
  postgresByWal: number;
  postgresByCpu: number;
  redisByCpu: number;
};

const DAY_SECONDS = 86_400;

/** After the first year. `figures` in the units of their type. */
export function needOf(learners: number, figures: Figures, log = largestLog(figures)): Need {
  const peak = (aDay: number) => (learners * aDay * ASSUMED.peakFactor) / DAY_SECONDS;
  const [reviews, lists] = [peak(ASSUMED.reviewsADay), peak(ASSUMED.dueListsADay)];
  const { review, due } = figures.cpu;
  const coresFor = (part: keyof CpuOf) => (reviews * review[part] + lists * due[part]) / 1000;
  const machinesFor = (parts: readonly (keyof CpuOf)[]) =>
    parts.reduce((sum, part) => sum + coresFor(part), 0) / (ASSUMED.cores * ASSUMED.busyAtMost);
  const bytesAYear =
    learners *
    (ASSUMED.reviewsADay * 365 * reviewBytes(log) + ASSUMED.materialsOfLearner * figures.materialBytes);
  return {
    learners,
    peakReviewsASecond: reviews,
    peakListsASecond: lists,
    bytesAYear,
    services: machinesFor(['rest', 'scheduling', 'accounts']),
    postgresByDisk: bytesAYear / (ASSUMED.diskBytes * ASSUMED.fullAtMost),
    postgresByWal: (reviews * log.plain.writes.walBytesAfterCheckpoint) / ASSUMED.walBytesASecond,
    postgresByCpu: machinesFor(['postgres']),
    // Redis computes on one core.
    redisByCpu: coresFor('redis') / ASSUMED.busyAtMost,
  };
}

export type Machines = {
  services: number;
  /** Primaries; each has a standby beside it. */
  postgres: number;
  /** Masters; each has a replica beside it. A Cluster begins with three. */
  redis: number;
  dollarsAMonth: number;
};

export function machinesOf(need: Need): Machines {
  const services = Math.max(2, Math.ceil(need.services));
  const postgres = Math.max(
    1,
    Math.ceil(Math.max(need.postgresByDisk, need.postgresByWal, need.postgresByCpu)),
  );
  const redis = need.redisByCpu <= 1 ? 1 : Math.max(3, Math.ceil(need.redisByCpu));
  // A Redis node takes one core; a PostgreSQL machine takes a whole one with its disk; both are there twice.
  const cores = services * ASSUMED.cores + postgres * 2 * ASSUMED.cores + redis * 2;
  const terabytes = (postgres * 2 * ASSUMED.diskBytes) / 1e12;
  const dollarsAMonth = cores * ASSUMED.coreDollarsAMonth + terabytes * ASSUMED.terabyteDollarsAMonth;
  return { services, postgres, redis, dollarsAMonth };
}

/** Learners at which one machine no longer does, by what ends it. All needs grow evenly with learners. */
export function wallsOf(figures: Figures): Record<'disk' | 'wal' | 'cpu' | 'redis', number> {
  const one = needOf(1, figures);
  return {
    disk: 1 / one.postgresByDisk,
    wal: 1 / one.postgresByWal,
    cpu: 1 / one.postgresByCpu,
    redis: 1 / one.redisByCpu,
  };
}

/** With its indexes. */
export function reviewBytes({ rows, plain }: Figures['reviewLogs'][number]): number {
  return Object.values(plain.sizes).reduce((sum, bytes) => sum + bytes, 0) / rows;
}

export function largestLog({ reviewLogs }: Figures) {
  const log = reviewLogs.at(-1);
  if (log === undefined) throw new Error('the review log has not been measured');
  return log;
}
