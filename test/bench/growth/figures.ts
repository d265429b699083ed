// What was measured, as docs/scaling.json keeps it, and how it gets there from the files that the measurements leave.
import { readFileSync } from 'node:fs';
import { median } from '../figure.ts';
import type { Rounds } from '../measure.ts';
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

const PROCESSES = ['rest', 'scheduling', 'accounts', 'postgres', 'redis'] as const;

/** `file`: what npm run bench -- --rows due,review --json FILE has written. */
export function readBench(file: string): Pick<Figures, 'machine' | 'cpu'> {
  const { machine, loads }: { machine: string; loads: Record<string, Rounds> } = JSON.parse(
    readFileSync(file, 'utf8'),
  );
  const cpuOf = (row: string): CpuOf => {
    const rounds = loads[row]?.ours;
    if (rounds === undefined) throw new Error(`${file} has no row "${row}"`);
    const parts = PROCESSES.map((name) => [
      name,
      round(median(rounds.map(({ cpuMsOf }) => cpuMsOf[name] ?? 0)), 4),
    ]);
    return Object.fromEntries(parts) as CpuOf;
  };
  return { machine, cpu: { review: cpuOf('review'), due: cpuOf('due') } };
}

/** What test/bench/review-log.ts or test/bench/replicas.ts has written with --json FILE, to three places. */
export const readReviewLog = (file: string): ReviewLog => JSON.parse(readFileSync(file, 'utf8'), rounded);
export const readReplicas = (file: string): Figures['replicas'] =>
  JSON.parse(readFileSync(file, 'utf8'), rounded);

const rounded = (_: string, value: unknown) => (typeof value === 'number' ? round(value, 3) : value);

const round = (value: number, digits: number) => Math.round(value * 10 ** digits) / 10 ** digits;
