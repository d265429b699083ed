// A batch that the database does not answer: its requests are to be sent alone, within a second.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BatchListMaterialsResponse } from '../../../generated/scheduling/v1/BatchListMaterialsResponse.ts';
import { toOutcomes } from '../../../services/platform/grpc/batched-calls.ts';
import { openLock } from '../../support/row-locks.ts';
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

/** Each returns a function that unblocks the database. */
const HOLDS = {
  async 'whose table is locked'() {
    const lock = await openLock(here.databaseUrl);
    await lock.sql.query('LOCK TABLE scheduling.materials IN ACCESS EXCLUSIVE MODE');
    return async () => {
      // The statement times out while the table is still locked.
      await expect
        .poll(lock.waiting, { timeout: 20_000 })
        .toBe(0)
        .finally(() => lock.close());
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
    'is answered by %s before its statement times out: each is to be sent alone, and a bad one fails by itself',
    async (list) => {
      const [ada, bob] = [newUserId(), newUserId()];
      await here.create(ada);
      const requests = [{ userId: ada }, { userId: bob }, { userId: 'x' }];
      const ask = () => here.materials[list]({ requests }, CALL);
      // Once before, so that the time below is that of the batch alone.
      // The time-out of the statement, 1.5 s, would say the same.
      expect(told(await ask())).toEqual([1, 0, 'INVALID_REQUEST user_id']);
      const unblock = await hold();
      try {
        const startMs = performance.now();
        const late = await ask();
        expect(performance.now() - startMs).toBeLessThan(1400);
        expect(told(late)).toEqual(['send alone', 'send alone', 'INVALID_REQUEST user_id']);
        expect([late.failedRequests[0]?.code, late.failedRequests[1]?.code]).toEqual([10, 10]);
      } finally {
        await unblock();
      }
      await expect.poll(async () => told(await ask())).toEqual([1, 0, 'INVALID_REQUEST user_id']);
    },
  );
});

test('a batch whose statement is cancelled is answered: each request is to be sent alone', async () => {
  const ada = newUserId();
  const lock = await openLock(here.databaseUrl);
  await lock.sql.query('LOCK TABLE scheduling.materials IN ACCESS EXCLUSIVE MODE');
  try {
    const answer = here.materials.batchListMaterials(
      { requests: [{ userId: ada }, { userId: newUserId() }] },
      CALL,
    );
    await expect.poll(lock.waiting, { interval: 5 }).toBe(1);
    await lock.sql.query(
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
    );
    expect(told(await answer)).toEqual(['send alone', 'send alone']);
  } finally {
    await lock.close();
  }
});
