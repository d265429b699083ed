// The load generator, a process of its own: takes plans over IPC, one at a time, and answers with what it saw.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { type Connection, openConnection } from './connection.ts';
import type { PacerStarts } from './pacer.ts';
import type { LoadPlan, LoadResult } from './plan.ts';

/** Answers that have not come this long after the last request are given up. */
const GRACE_MS = 10_000;
const GOOD_MS = 500;
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

process.on('message', (plan: LoadPlan) => {
  void run(plan).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));

function createRecord() {
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  const refusedMs: number[] = [];
  let good = 0;
  return {
    /** `answerMs` counts from when it was sent, `latencyMs` from when it was due. */
    add(status: number, latencyMs: number, answerMs = latencyMs): void {
      latencies.push(latencyMs);
      if (status === 200 && latencyMs <= GOOD_MS) good += 1;
      if (status === 503) refusedMs.push(answerMs);
      statuses[status] = (statuses[status] ?? 0) + 1;
    },
    count: () => latencies.length,
    result(seconds: number): LoadResult {
      const sorted = Float64Array.from(latencies).sort();
      const at = (share: number) =>
        sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
      const refused = refusedMs.sort((a, b) => a - b);
      const refusedP99Ms = refused[Math.floor(refused.length * 0.99)] ?? Number.NaN;
      const [p50Ms, p99Ms, maxMs] = [at(0.5), at(0.99), at(1)];
      return { answered: sorted.length, seconds, statuses, p50Ms, p99Ms, maxMs, good, refusedP99Ms };
    },
  };
}

const run = (plan: LoadPlan) =>
  plan.ratePerSecond === undefined ? closedLoop(plan) : openLoop(plan, plan.ratePerSecond);

/** Each connection sends its next request when the last is answered. */
async function closedLoop(plan: LoadPlan): Promise<LoadResult> {
  const { requests, total = Number.POSITIVE_INFINITY } = plan;
  const record = createRecord();
  let sent = 0;
  const startMs = nowMs();
  const endMs = startMs + plan.durationMs;
  const drive = async () => {
    let sentMs = 0;
    let wake = () => {};
    const connection = await openConnection(plan.port, (status) => {
      const time = nowMs();
      record.add(status, time - sentMs);
      if (status !== 0 && time < endMs && sent < total) next();
      else wake();
    });
    const next = () => {
      const request = requests[sent % requests.length] ?? '';
      sent += 1;
      sentMs = nowMs();
      connection.send(request);
    };
    await new Promise<void>((resolve) => {
      wake = resolve;
      next();
    });
    connection.close();
  };
  await Promise.all(Array.from({ length: plan.connections }, drive));
  return record.result((nowMs() - startMs) / 1000);
}

type Slot = { connection: Connection; dueMs: number; sentMs: number };

/**
 * Requests are due at even intervals, and one that finds no free connection waits: its latency counts from when it was
 * due, so a system that stalls cannot hide what it made others wait.
 */
async function openLoop(plan: LoadPlan, ratePerSecond: number): Promise<LoadResult> {
  const record = createRecord();
  const dueMs: number[] = [];
  const free: Slot[] = [];
  const dispatch = () => {
    while (dueMs.length > 0) {
      // The longest idle first: one that is never used would be closed as slow.
      const slot = free.shift();
      if (slot === undefined) return;
      slot.dueMs = dueMs.shift() ?? 0;
      slot.sentMs = nowMs();
      slot.connection.send(plan.requests[sent++ % plan.requests.length] ?? '');
    }
  };
  let sent = 0;
  const slots: Slot[] = [];
  for (let index = 0; index < plan.connections; index += 1) {
    const connection = await openConnection(plan.port, (status) => {
      const slot = slots[index];
      if (slot === undefined) return;
      record.add(status, nowMs() - slot.dueMs, nowMs() - slot.sentMs);
      free.push(slot);
      dispatch();
    });
    slots.push({ connection, dueMs: 0, sentMs: 0 });
  }
  free.push(...slots);
  const intervalMs = 1000 / ratePerSecond;
  const count = Math.floor(plan.durationMs / intervalMs);
  const pacer = new Worker(new URL('./pacer.ts', import.meta.url), { workerData: { intervalMs, count } });
  const [{ startMs }] = (await once(pacer, 'message')) as [PacerStarts];
  let told = 0;
  pacer.on('message', (due: number) => {
    for (; told < due; told += 1) dueMs.push(startMs + told * intervalMs);
    dispatch();
  });
  await sleep(plan.durationMs);
  for (let waitedMs = 0; record.count() < count && waitedMs < GRACE_MS; waitedMs += 5) await sleep(5);
  await pacer.terminate();
  // What was never sent is given up: a connection that closes is free, and would be sent the next.
  dueMs.length = 0;
  for (const { connection } of slots) connection.close();
  return record.result((nowMs() - startMs) / 1000);
}
