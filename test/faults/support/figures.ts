// Times that fault tests measure: printed after the run, and after a full run written into docs/promises.md.
import { appendFileSync } from 'node:fs';
import { expect, inject } from 'vitest';
import { ROUNDS } from './rounds.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the figures of this run are collected. */
    figuresFile: string;
  }
}

export type Figure = {
  /** What is measured: under which circumstances, a colon, and what. */
  promise: string;
  measured: number;
  /** What is promised at most, in the same unit. */
  bar: number;
  unit: 'ms' | '%' | 'ratio';
  /** How it was measured: rounds, load. */
  over: string;
};

/**
 * A machine may be busy, so a time fails only beyond five times its bar; a share or a ratio fails beyond its bar. A short form never
 * fails: it has too few rounds to judge.
 */
export function recordFigure(figure: Figure): void {
  appendFileSync(inject('figuresFile'), `${JSON.stringify(figure)}\n`);
  if (ROUNDS < 20) return;
  const tolerance = figure.unit === 'ms' ? 5 : 1;
  expect(figure.measured, figure.promise).toBeLessThanOrEqual(tolerance * figure.bar);
}
