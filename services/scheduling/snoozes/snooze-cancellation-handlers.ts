// The rpc of scheduling.v1.SnoozeService that ends a snooze early.
import type { SnoozeServiceHandlers } from '../../../generated/scheduling/v1/SnoozeService.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { lockMaterials } from '../materials/materials-repository.ts';
import { requireUserId } from '../requests.ts';
import { cancelSnooze, findSnooze, listCancellable } from './snooze-cancellation-repository.ts';

export function createSnoozeCancellationHandlers({
  database,
  now,
}: HandlerDependencies): Pick<AsyncHandlers<SnoozeServiceHandlers>, 'CancelSnooze'> {
  return {
    async CancelSnooze({ userId, snoozeId }) {
      requireUserId(userId);
      if (!isUuid(snoozeId)) throw snoozeNotFound();
      const materialIds = await database.transaction((tx) => putBack(tx, { userId, snoozeId, now }));
      return { materialIds };
    },
  };
}

/** @returns the materials that got back their time. */
async function putBack(
  transaction: Queryable,
  { userId, snoozeId, now }: { userId: string; snoozeId: string; now: () => Date },
): Promise<string[]> {
  const snooze = await findSnooze(transaction, userId, snoozeId);
  if (snooze === undefined) throw snoozeNotFound();
  // Locked first, so that what was read of them stays true, and no update time goes back.
  const locked = await lockMaterials(transaction, userId, snooze.materialIds);
  const cancelTime = now();
  if (snooze.snoozeUntilTime <= cancelTime) return [];
  const revisionOf = new Map(locked.map(({ materialId, revision }) => [materialId, revision]));
  const waiting = await listCancellable(transaction, userId, snoozeId);
  if (waiting.length === 0) return [];
  const returned = waiting.map((material) => ({
    ...material,
    revision: (revisionOf.get(material.materialId) ?? 0) + 1,
  }));
  await cancelSnooze(transaction, { userId, snoozeId, cancelTime }, returned);
  return waiting.map(({ materialId }) => materialId);
}

function snoozeNotFound(): ServiceError {
  return new ServiceError('NOT_FOUND', { message: 'There is no such snooze.' });
}
