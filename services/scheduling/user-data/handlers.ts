// The rpcs of scheduling.v1.UserDataService: export and deletion of a user's data.
import type { ExportUserDataResponseInput } from '../../../generated/scheduling/v1/ExportUserDataResponse.ts';
import type { MaterialRecordInput } from '../../../generated/scheduling/v1/MaterialRecord.ts';
import type { TrainedParametersInput } from '../../../generated/scheduling/v1/TrainedParameters.ts';
import type { UserDataServiceHandlers } from '../../../generated/scheduling/v1/UserDataService.ts';
import { createFairQueue } from '../../platform/concurrency.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { toTimestamp } from '../../platform/instants.ts';
import { allRows, type Queryable } from '../../platform/postgres/database.ts';
import { isSandboxUser, NIL_UUID, requireUserId } from '../../platform/uuid.ts';
import { type Now, readAheadMs } from '../clock.ts';
import type { Material } from '../materials/material.ts';
import { toClockMessage, toMaterialMessage, toReviewMessage, toSnoozeMessage } from '../messages.ts';
import type { HandlerDependencies } from '../requests.ts';
import type { Review } from '../reviews/review.ts';
import { findTraining, MAX_REVISION } from '../rows.ts';
import type { ListedSnooze } from '../snoozes/rules.ts';
import type { Training } from '../statistics/prediction.ts';
import { toRecordMessage, toSettingsMessage } from './record-messages.ts';
import {
  deleteUserData,
  type ImportedMaterial,
  readBelongings,
  readImported,
  readMaterials,
  readReviews,
  readReviewsByMaterial,
  readSettingsOf,
  readSnoozes,
} from './sql.ts';

const ROWS_AT_A_TIME = 500;
/** Of texts: an export holds what it has read until its client takes it. */
const BYTES_AT_A_TIME = 1024 * 1024;
/** Whole materials, and reviews of them. */
const WHOLE_AT_A_TIME = 100;
const REVIEWS_AT_A_TIME = 2000;
/** Reviews and snoozes per message, which can also hold 512 KiB of texts. */
const REVIEWS_OF_PART = 1000;
const SNOOZES_OF_PART = 100;
/** Reads for exports at once; one at a time of each user. */
const READS_AT_ONCE = 2;
/** Of each statement of a deletion: a user can have many rows. */
const DELETE_TIMEOUT_MS = 60_000;

export function createUserDataHandlers({ database, now, wallClock }: HandlerDependencies) {
  const queue = createFairQueue(READS_AT_ONCE);
  return {
    async ExportUserData(request, { signal }, send) {
      const userId = requireUserId(request.userId);
      const limited: Queryable = {
        query: (statement) => queue.run(userId, signal, () => database.query(statement)),
      };
      const messages = request.whole ? wholeMessages(limited, userId) : allMessages(limited, userId, now);
      for await (const message of messages) {
        if (signal.aborted) return;
        await send(message);
      }
    },

    async DeleteUserData(request) {
      const userId = requireUserId(request.userId);
      return database.transaction((transaction) => deleteUserData(transaction, userId, wallClock()), {
        statementTimeoutMs: DELETE_TIMEOUT_MS,
      });
    },
  } satisfies Partial<AsyncHandlers<UserDataServiceHandlers>>;
}

async function* allMessages(db: Queryable, userId: string, now: Now) {
  const maxRows = ROWS_AT_A_TIME;
  const materials = allRows((after: Material | undefined) =>
    readMaterials(db, userId, { afterId: after?.materialId ?? NIL_UUID, maxRows, maxBytes: BYTES_AT_A_TIME }),
  );
  for await (const material of materials) yield { material: toMaterialMessage(material) };
  const imported = allRows((after: ImportedMaterial | undefined) =>
    readImported(db, userId, { after, maxRows }),
  );
  for await (const { importTime, ...from } of imported)
    yield { importedMaterial: { ...from, importTime: toTimestamp(importTime) } };
  const reviews = allRows((after: Review | undefined) => readReviews(db, userId, { after, maxRows }));
  for await (const review of reviews) yield { review: toReviewMessage(review) };
  const snoozes = allRows(async (after: ListedSnooze | undefined) =>
    readSnoozes(db, userId, { after, maxRows, now: await now(userId, db) }),
  );
  for await (const snooze of snoozes) yield { snooze: toSnoozeMessage(snooze) };
  for (const settings of await readSettingsOf(db, userId)) yield { settings: toSettingsMessage(settings) };
  const training = await findTraining(db, userId);
  if (training !== null) yield { trainedParameters: toTrainedMessage(training) };
  const aheadMs = isSandboxUser(userId) ? await readAheadMs(db, userId) : 0;
  if (aheadMs > 0) yield { testClock: toClockMessage(await now(userId, db), aheadMs) };
}

function toTrainedMessage({ parameters, trainTime, reviews }: Training): TrainedParametersInput {
  return { parameters: [...parameters], trainTime: toTimestamp(trainTime), trainReviews: reviews };
}

/** Settings, then whole materials. */
async function* wholeMessages(db: Queryable, userId: string): AsyncGenerator<ExportUserDataResponseInput> {
  for (const settings of await readSettingsOf(db, userId)) yield { settings: toSettingsMessage(settings) };
  for (let afterId = NIL_UUID; ; ) {
    const page = { afterId, maxRows: WHOLE_AT_A_TIME, maxBytes: BYTES_AT_A_TIME };
    const materials = await readMaterials(db, userId, page);
    const last = materials.at(-1);
    if (last === undefined) return;
    const ids = materials.map(({ materialId }) => materialId);
    const { imported, snoozes } = await readBelongings(db, userId, ids);
    const reviewsOf = reviewsByMaterial(db, userId, { afterId, lastMaterialId: last.materialId });
    for (const material of materials) {
      const { materialId } = material;
      const baseline = imported.get(materialId) ?? null;
      const record = toRecordMessage({
        material,
        source: baseline?.source ?? '',
        baseline,
        reviews: await reviewsOf(materialId),
        snoozes: snoozes.get(materialId) ?? [],
      });
      for (const part of partsOfRecord(record)) yield { wholeMaterial: part };
    }
    afterId = last.materialId;
  }
}

/** Returns a function that gives the reviews of each material in order, which it reads page by page. */
function reviewsByMaterial(
  db: Queryable,
  userId: string,
  { afterId, lastMaterialId }: { afterId: string; lastMaterialId: string },
): (materialId: string) => Promise<Review[]> {
  let after = { materialId: afterId, revision: MAX_REVISION };
  let read: Review[] = [];
  let isLast = false;
  return async (materialId) => {
    for (;;) {
      const next = read.findIndex((review) => review.materialId > materialId);
      if (next >= 0 || isLast) {
        const upToIt = read.splice(0, next >= 0 ? next : read.length);
        // They may include reviews of a material that was created after the materials were read.
        return upToIt.filter((review) => review.materialId === materialId);
      }
      const page = await readReviewsByMaterial(db, userId, {
        after,
        lastMaterialId,
        maxRows: REVIEWS_AT_A_TIME,
      });
      isLast = page.length < REVIEWS_AT_A_TIME;
      after = page.at(-1) ?? after;
      read = read.concat(page);
    }
  };
}

/** A record in messages below the limit of 1 MiB for requests. */
function* partsOfRecord({
  reviews = [],
  snoozes = [],
  ...rest
}: MaterialRecordInput): Generator<MaterialRecordInput> {
  const count = Math.max(
    1,
    Math.ceil(reviews.length / REVIEWS_OF_PART),
    Math.ceil(snoozes.length / SNOOZES_OF_PART),
  );
  for (let index = 0; index < count; index += 1) {
    yield {
      ...(index === 0 && rest),
      reviews: reviews.slice(index * REVIEWS_OF_PART, (index + 1) * REVIEWS_OF_PART),
      snoozes: snoozes.slice(index * SNOOZES_OF_PART, (index + 1) * SNOOZES_OF_PART),
      continues: index + 1 < count,
    };
  }
}
