// A thread that wakes the generator when requests are due: it sleeps to a fraction of a millisecond, which timers do not.
import { parentPort, workerData } from 'node:worker_threads';

/** Said first, when the thread runs, which takes longer than many requests do. After it: how many are due by now, in all. */
export type PacerStarts = { startMs: number };

/** Each time it wakes the other thread costs some 20 us: at high rates, what falls due in this time goes together. */
const LEAST_SLEEP_MS = 0.5;

const { intervalMs, count }: { intervalMs: number; count: number } = workerData;
const never = new Int32Array(new SharedArrayBuffer(4));
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

const startMs = nowMs();
parentPort?.postMessage({ startMs } satisfies PacerStarts);
for (let told = 0; told < count; ) {
  Atomics.wait(never, 0, 0, Math.max(startMs + told * intervalMs - nowMs(), LEAST_SLEEP_MS));
  const due = Math.min(Math.floor((nowMs() - startMs) / intervalMs) + 1, count);
  if (due <= told) continue;
  parentPort?.postMessage(due);
  told = due;
}
