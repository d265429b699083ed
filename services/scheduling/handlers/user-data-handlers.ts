// The rpcs of scheduling.v1.UserDataService: everything of one user, to take away or to remove.
import type { UserDataServiceHandlers } from '../../../generated/scheduling/v1/UserDataService.ts';
import type { AsyncHandlers } from '../../platform/grpc-server.ts';
import type { Queryable } from '../../platform/postgres.ts';
import { listReviewsOldestFirst } from '../repositories/reviews-repository.ts';
import { listSnoozesOldestFirst } from '../repositories/snooze-lists-repository.ts';
import { deleteUserData, FIRST_ID, readMaterials } from '../repositories/user-data-repository.ts';
import { requireUserId } from '../requests.ts';
import { toMaterialMessage, toReviewMessage, toSnoozeMessage } from '../wire.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Few at a time: a material may hold half a megabyte of text. */
const MATERIALS_AT_A_TIME = 20;
const ROWS_AT_A_TIME = 500;

export function createUserDataHandlers({
  database,
  now,
}: HandlerDependencies): AsyncHandlers<UserDataServiceHandlers> {
  return {
    async ExportUserData(request, { signal }, send) {
      const userId = requireUserId(request.userId);
      for await (const material of allMaterials(database, userId)) {
        if (signal.aborted) return;
        await send({ material: toMaterialMessage(material) });
      }
      for await (const review of allRows(database, userId, listReviewsOldestFirst)) {
        if (signal.aborted) return;
        await send({ review: toReviewMessage(review) });
      }
      for await (const snooze of allRows(database, userId, listSnoozesOldestFirst)) {
        if (signal.aborted) return;
        await send({ snooze: toSnoozeMessage(snooze, snooze.materialIds) });
      }
    },

    async DeleteUserData(request) {
      const userId = requireUserId(request.userId);
      return database.transaction((transaction) => deleteUserData(transaction, userId, now()));
    },
  };
}

async function* allMaterials(db: Queryable, userId: string) {
  for (let afterId = FIRST_ID; ; ) {
    const materials = await readMaterials(db, userId, { afterId, limit: MATERIALS_AT_A_TIME });
    yield* materials;
    const last = materials.at(-1);
    if (last === undefined || materials.length < MATERIALS_AT_A_TIME) return;
    afterId = last.materialId;
  }
}

/** `read` returns the rows after one of its own, or the first ones. */
async function* allRows<T>(
  db: Queryable,
  userId: string,
  read: (db: Queryable, userId: string, page: { limit: number; after: T | undefined }) => Promise<T[]>,
) {
  for (let after: T | undefined; ; ) {
    const rows = await read(db, userId, { limit: ROWS_AT_A_TIME, after });
    yield* rows;
    if (rows.length < ROWS_AT_A_TIME) return;
    after = rows.at(-1);
  }
}
