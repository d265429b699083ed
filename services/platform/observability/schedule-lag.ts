// How late work is that a process does regularly.
import type { Telemetry } from './telemetry.ts';

/** Shows it as a metric. @returns a function to call whenever `task` has been done. */
export function watchLag({ metrics }: Telemetry, task: string, everyMs: number): () => void {
  let doneTime = performance.now();
  metrics.gauge('srs_schedule_lag_seconds', () => {
    const lateMs = performance.now() - doneTime - everyMs;
    return [{ labels: { task }, value: Math.max(0, lateMs) / 1000 }];
  });
  return () => {
    doneTime = performance.now();
  };
}
