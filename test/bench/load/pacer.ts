// A thread that wakes the generator at even intervals: it sleeps to a fraction of a millisecond, which timers do not.
import { parentPort, workerData } from 'node:worker_threads';

const { startMs, intervalMs, count }: { startMs: number; intervalMs: number; count: number } = workerData;
const never = new Int32Array(new SharedArrayBuffer(4));
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

for (let index = 0; index < count; index += 1) {
  const waitMs = startMs + index * intervalMs - nowMs();
  if (waitMs > 0) Atomics.wait(never, 0, 0, waitMs);
  parentPort?.postMessage(index);
}
