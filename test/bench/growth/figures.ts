// What was measured, as docs/data/scaling.json and docs/data/performance.md keep it, and how it gets there from the files of the
// measurements.
import { readFileSync } from 'node:fs';
import type { ReadCost } from '../review-log/reads.ts';
import type { Cost } from '../review-log/server.ts';
import type { WriteCost } from '../review-log/writes.ts';

/** CPU in milliseconds of one request, by process. */
export type CpuOf = { rest: number; scheduling: number; accounts: number; postgres: number; redis: number };

export type LogForm = {
  sizes: Record<string, number>;
  reads: Record<string, ReadCost>;
  writes: WriteCost;
};
export type ReviewLog = {
  rows: number;
  learners: number;
  plain: LogForm & { retention: { delete: Cost; vacuum: Cost } };
  parted: LogForm & { retention: { drop: Cost } };
};

/** Of the load with so many of each service. */
export type ReplicaCost = { replicas: string; cpuMs: number; perSecond: number; p50Ms: number };

export type Figures = {
  measuredOn: string;
  machine: string;
  cpu: { review: CpuOf; due: CpuOf };
  /** With its search text and all indexes; 32 characters of title, 272 of content. */
  materialBytes: number;
  replicas: Record<string, ReplicaCost[]>;
  /** From the smaller to the larger. */
  reviewLogs: ReviewLog[];
};

/** What docs/data/scaling.json keeps: CPU per request is kept by docs/data/performance.md alone, which the benchmark writes. */
export type KeptFigures = Omit<Figures, 'cpu'>;

/** `page`: the text of docs/data/performance.md. */
export function readCpu(page: string): Figures['cpu'] {
  const cpuOf = (load: string): CpuOf => {
    const [, parts] = new RegExp(`^\\| ${load} \\| ours \\| [^|]+ \\| ([^|]+) \\|`, 'm').exec(page) ?? [];
    if (parts === undefined) throw new Error(`docs/data/performance.md has no row "${load} | ours"`);
    const msOf = (name: keyof CpuOf) => {
      const [, ms] = new RegExp(`\\b${name} ([\\d.e-]+)`).exec(parts) ?? [];
      if (ms === undefined) throw new Error(`docs/data/performance.md has no CPU of ${name} for "${load}"`);
      return Number(ms);
    };
    return {
      rest: msOf('rest'),
      scheduling: msOf('scheduling'),
      accounts: msOf('accounts'),
      postgres: msOf('postgres'),
      redis: msOf('redis'),
    };
  };
  return { review: cpuOf('review'), due: cpuOf('due') };
}

/** What test/bench/review-log.ts or test/bench/replicas.ts has written with --json FILE, to three places. */
export const readReviewLog = (file: string): ReviewLog => JSON.parse(readFileSync(file, 'utf8'), rounded);
export const readReplicas = (file: string): Figures['replicas'] =>
  JSON.parse(readFileSync(file, 'utf8'), rounded);

const rounded = (_: string, value: unknown) => (typeof value === 'number' ? round(value, 3) : value);

const round = (value: number, digits: number) => Math.round(value * 10 ** digits) / 10 ** digits;
