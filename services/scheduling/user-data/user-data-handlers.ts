// The rpcs of scheduling.v1.UserDataService: export and deletion of a user's data.
import type { UserDataServiceHandlers } from '../../../generated/scheduling/v1/UserDataService.ts';
import { createFairQueue } from '../../platform/concurrency.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { NIL_UUID } from '../../platform/uuid.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { toMaterialMessage } from '../materials/material-mapper.ts';
import { requireUserId } from '../requests.ts';
import { listReviews } from '../reviews/review-history-repository.ts';
import { toReviewMessage } from '../reviews/review-mapper.ts';
import { type ListedSnooze, listSnoozes } from '../snoozes/snooze-lists-repository.ts';
import { toSnoozeMessage } from '../snoozes/snooze-mapper.ts';
import { deleteUserData, readMaterials } from './user-data-repository.ts';

const ROWS_AT_A_TIME = 500;
/** Of texts: an export holds what it has read until its client takes it. */
const BYTES_AT_A_TIME = 1024 * 1024;
/** Reads for exports at once; one at a time of each user. */
const READS_AT_ONCE = 2;
/** Exports of one user beyond these get UNAVAILABLE. */
const MAX_WAITING = 64;
/** Of each statement of a deletion: a user can have many rows. */
const DELETE_TIMEOUT_MS = 60_000;

export function createUserDataHandlers({
  database,
  now,
}: HandlerDependencies): AsyncHandlers<UserDataServiceHandlers> {
  const lane = createFairQueue({ maxRunning: READS_AT_ONCE, maxWaiting: MAX_WAITING });
  return {
    async ExportUserData(request, { signal }, send) {
      const userId = requireUserId(request.userId);
      const limited: Queryable = {
        query: (statement) => lane.run(userId, signal, () => database.query(statement)),
      };
      for await (const message of allMessages(limited, userId, now)) {
        if (signal.aborted) return;
        await send(message);
      }
    },

    async DeleteUserData(request) {
      const userId = requireUserId(request.userId);
      return database.transaction((transaction) => deleteUserData(transaction, userId, now()), {
        statementTimeoutMs: DELETE_TIMEOUT_MS,
      });
    },
  };
}

async function* allMessages(db: Queryable, userId: string, now: () => Date) {
  for await (const material of allMaterials(db, userId)) yield { material: toMaterialMessage(material) };
  for await (const review of allRows(db, userId, listReviews)) yield { review: toReviewMessage(review) };
  const listSnoozesNow: ListOf<ListedSnooze> = (_, id, page) => listSnoozes(db, id, { ...page, now: now() });
  for await (const snooze of allRows(db, userId, listSnoozesNow)) yield { snooze: toSnoozeMessage(snooze) };
}

async function* allMaterials(db: Queryable, userId: string) {
  for (let afterId = NIL_UUID; ; ) {
    const materials = await readMaterials(db, userId, {
      afterId,
      maxRows: ROWS_AT_A_TIME,
      maxBytes: BYTES_AT_A_TIME,
    });
    yield* materials;
    const last = materials.at(-1);
    if (last === undefined) return;
    afterId = last.materialId;
  }
}

type FromOldest<T> = { limit: number; after: T | undefined; order: 'oldest first' };
type ListOf<T> = (db: Queryable, userId: string, page: FromOldest<T>) => Promise<T[]>;

/** `list` returns the rows after one of its own, or the first ones. */
async function* allRows<T>(db: Queryable, userId: string, list: ListOf<T>) {
  for (let after: T | undefined; ; ) {
    const rows = await list(db, userId, { limit: ROWS_AT_A_TIME, after, order: 'oldest first' });
    yield* rows;
    if (rows.length < ROWS_AT_A_TIME) return;
    after = rows.at(-1);
  }
}
