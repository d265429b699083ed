// A batch that the database does not answer: its requests are told to come alone, soon, and nobody is left waiting.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BatchListMaterialsResponse } from '../../../generated/scheduling/v1/BatchListMaterialsResponse.ts';
import { toOutcomes } from '../../../services/platform/grpc/batched-calls.ts';
import { openHolder } from '../../support/row-locks.ts';
import {
  answered,
  CALL,
  newUserId,
  startTestScheduling,
  type TestScheduling,
} from '../../support/scheduling.ts';

let here: TestScheduling;
beforeAll(async () => {
  here = await startTestScheduling();
});
afterAll(() => here.stop());

/** Each returns what lets the database go on. */
const HOLDS = {
  async 'whose table is locked'() {
    const holder = await openHolder(here.databaseUrl);
    await holder.sql.query('LOCK TABLE scheduling.materials IN ACCESS EXCLUSIVE MODE');
    return async () => {
      // Of itself, while the table is still locked.
      await expect
        .poll(holder.waiting, { timeout: 5000 })
        .toBe(0)
        .finally(() => holder.close());
    };
  },
  /** Longer than any time-out of the server, so that only the batch's own ends the wait. */
  async 'whose connections are frozen'() {
    const { rows } = await here.sql.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity
       WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    );
    for (const { pid } of rows) process.kill(pid, 'SIGSTOP');
    return async () => {
      for (const { pid } of rows) process.kill(pid, 'SIGCONT');
    };
  },
};

const told = (response: BatchListMaterialsResponse) =>
  toOutcomes(response).map((outcome) => answered(outcome, ({ materials }) => materials.length));

describe.each(Object.entries(HOLDS))('a batch of a database %s', (_, hold) => {
  test.each(['batchListMaterials', 'batchListDueMaterials'] as const)(
    'is answered by %s within a second: each is to be sent alone, and a bad one fails by itself',
    async (list) => {
      const [ada, bob] = [newUserId(), newUserId()];
      await here.create(ada);
      const requests = [{ userId: ada }, { userId: bob }, { userId: 'x' }];
      const ask = () => here.materials[list]({ requests }, CALL);
      // Once before, so that the time below is that of the batch alone.
      expect(told(await ask())).toEqual([1, 0, 'INVALID_REQUEST user_id']);
      const letGo = await hold();
      try {
        const startMs = performance.now();
        const late = await ask();
        expect(performance.now() - startMs).toBeLessThan(1000);
        expect(told(late)).toEqual(['send alone', 'send alone', 'INVALID_REQUEST user_id']);
        expect([late.failedRequests[0]?.code, late.failedRequests[1]?.code]).toEqual([10, 10]);
      } finally {
        await letGo();
      }
      await expect.poll(async () => told(await ask())).toEqual([1, 0, 'INVALID_REQUEST user_id']);
    },
  );
});

test('a batch whose statement is cancelled tells each request to come alone', async () => {
  const ada = newUserId();
  const holder = await openHolder(here.databaseUrl);
  await holder.sql.query('LOCK TABLE scheduling.materials IN ACCESS EXCLUSIVE MODE');
  try {
    const answer = here.materials.batchListMaterials(
      { requests: [{ userId: ada }, { userId: newUserId() }] },
      CALL,
    );
    await expect.poll(holder.waiting, { interval: 5 }).toBe(1);
    await holder.sql.query(
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
    );
    expect(told(await answer)).toEqual(['send alone', 'send alone']);
  } finally {
    await holder.close();
  }
});
