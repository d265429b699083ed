// The rpcs of scheduling.v1.UserDataService: export and deletion of a user's data.
import type { UserDataServiceHandlers } from '../../../generated/scheduling/v1/UserDataService.ts';
import { createFairQueue } from '../../platform/concurrency.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { NIL_UUID, requireUserId } from '../../platform/uuid.ts';
import { toMaterialMessage, toReviewMessage, toSnoozeMessage } from '../messages.ts';
import type { HandlerDependencies } from '../requests.ts';
import type { Review } from '../reviews/review.ts';
import type { ListedSnooze } from '../snoozes/rules.ts';
import { deleteUserData, readMaterials, readReviews, readSnoozes } from './sql.ts';

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
  const queue = createFairQueue({ maxRunning: READS_AT_ONCE, maxWaiting: MAX_WAITING });
  return {
    async ExportUserData(request, { signal }, send) {
      const userId = requireUserId(request.userId);
      const limited: Queryable = {
        query: (statement) => queue.run(userId, signal, () => database.query(statement)),
      };
      for await (const message of allMessages(limited, userId, now)) {
        if (signal.aborted) return;
        await send(message);
      }
    },

    async ImportUserData() {
      throw new ServiceError('UNAVAILABLE', { cause: new Error('imports are not there yet') });
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
  const maxRows = ROWS_AT_A_TIME;
  for (let afterId = NIL_UUID; ; ) {
    const materials = await readMaterials(db, userId, { afterId, maxRows, maxBytes: BYTES_AT_A_TIME });
    for (const material of materials) yield { material: toMaterialMessage(material) };
    const last = materials.at(-1);
    if (last === undefined) break;
    afterId = last.materialId;
  }
  const reviews = allRows((after: Review | undefined) => readReviews(db, userId, { after, maxRows }));
  for await (const review of reviews) yield { review: toReviewMessage(review) };
  const snoozes = allRows((after: ListedSnooze | undefined) =>
    readSnoozes(db, userId, { after, maxRows, now: now() }),
  );
  for await (const snooze of snoozes) yield { snooze: toSnoozeMessage(snooze) };
}

/** `read` returns the rows after one of its own, or the first ones. */
async function* allRows<T>(read: (after: T | undefined) => Promise<T[]>) {
  for (let after: T | undefined; ; ) {
    const rows = await read(after);
    yield* rows;
    if (rows.length < ROWS_AT_A_TIME) return;
    after = rows.at(-1);
  }
}
