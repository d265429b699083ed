// The rpcs of scheduling.v1.SnoozeService.
import type { SnoozeMaterialsRequest } from '../../../generated/scheduling/v1/SnoozeMaterialsRequest.ts';
import type { SnoozeServiceHandlers } from '../../../generated/scheduling/v1/SnoozeService.ts';
import { invalidField } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc-server.ts';
import type { Queryable } from '../../platform/postgres.ts';
import { isUuid } from '../../platform/text.ts';
import { isTimeZone } from '../../platform/time-zone.ts';
import { fromTimestamp } from '../../platform/timestamps.ts';
import { snoozedNextReviewTime } from '../domain/due.ts';
import type { Material } from '../domain/material.ts';
import { resolvePreset } from '../domain/presets.ts';
import { lockMaterials } from '../repositories/materials-repository.ts';
import { insertSnooze, type Snooze } from '../repositories/snoozes-repository.ts';
import {
  materialNotFound,
  readRequestId,
  requireDistinctMaterialIds,
  requireFuture,
  requireReason,
  requireUserId,
} from '../requests.ts';
import { fromSnoozePreset, toSnoozeMessage } from '../wire.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { once } from './once.ts';
import { createSnoozeHistoryHandlers } from './snooze-history-handlers.ts';

export function createSnoozeHandlers(
  dependencies: HandlerDependencies,
): AsyncHandlers<SnoozeServiceHandlers> {
  const { database, now, newId } = dependencies;
  return {
    ...createSnoozeHistoryHandlers(dependencies),

    async SnoozeMaterials(request) {
      const userId = requireUserId(request.userId);
      const requestId = readRequestId(request.requestId);
      const reason = requireReason(request.reason);
      const materialIds = requireDistinctMaterialIds(request.materialIds);
      const write = async (transaction: Queryable) => {
        // In here, since a repetition is answered as the first was, even if the instant it named has passed by now.
        const createTime = now();
        const snoozeUntilTime = readSnoozeUntil(request, createTime);
        const snooze: Snooze = { snoozeId: newId(createTime), snoozeUntilTime, reason, createTime };
        await putOff(transaction, { userId, materialIds, snooze });
        return { response: { snooze: toSnoozeMessage(snooze, materialIds) }, materialIds };
      };
      if (requestId === '') return (await database.transaction(write)).response;
      const key = { userId, rpc: 'SnoozeMaterials', requestId };
      return once(dependencies, key, [materialIds, ...fieldsOfTime(request), reason], write);
    },
  };
}

/** What was asked, not what it came to: a repetition an hour later still means the same "tonight". */
function fieldsOfTime({ snoozeUntilTime, preset, timeZone }: SnoozeMaterialsRequest): readonly unknown[] {
  return [snoozeUntilTime && fromTimestamp(snoozeUntilTime), preset, timeZone];
}

/** Both ways of saying when are checked where both are given; the exact instant counts. */
function readSnoozeUntil(request: SnoozeMaterialsRequest, now: Date): Date {
  const until = request.snoozeUntilTime && requireFuture('snooze_until_time', request.snoozeUntilTime, now);
  const preset = fromSnoozePreset(request.preset);
  if (preset !== undefined && !isTimeZone(request.timeZone)) {
    throw invalidField(
      'time_zone',
      'time_zone must be an IANA time zone such as "Europe/Berlin" with a preset.',
    );
  }
  if (until !== null) return until;
  if (preset !== undefined) return resolvePreset(preset, now, request.timeZone);
  throw invalidField('snooze_until_time', 'One of snooze_until_time and preset must be given.');
}

async function putOff(
  transaction: Queryable,
  { userId, materialIds, snooze }: { userId: string; materialIds: readonly string[]; snooze: Snooze },
): Promise<void> {
  const locked = await lockMaterials(transaction, userId, materialIds.filter(isUuid));
  const byId = new Map(locked.map((material) => [material.materialId, material]));
  const materials = materialIds.map((materialId): Material => {
    const material = byId.get(materialId);
    if (material === undefined) throw materialNotFound(materialId);
    return material;
  });
  const snoozed = materials.map(({ materialId, nextReviewTime, revision }) => ({
    materialId,
    beforeNextReviewTime: nextReviewTime,
    afterNextReviewTime: snoozedNextReviewTime(nextReviewTime, snooze.snoozeUntilTime, snooze.createTime),
    revision: revision + 1,
  }));
  await insertSnooze(transaction, userId, snooze, snoozed);
}
