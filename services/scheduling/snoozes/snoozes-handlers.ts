// The rpcs of scheduling.v1.SnoozeService.
import type { SnoozeMaterialsRequest } from '../../../generated/scheduling/v1/SnoozeMaterialsRequest.ts';
import type { SnoozeServiceHandlers } from '../../../generated/scheduling/v1/SnoozeService.ts';
import { atMostPerKey } from '../../platform/concurrency.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { fromTimestamp } from '../../platform/protobuf/timestamps.ts';
import { isTimeZone } from '../../platform/time-zone.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { executeIdempotently } from '../idempotency/idempotency.ts';
import type { Material } from '../materials/material.ts';
import { lockMaterials } from '../materials/materials-repository.ts';
import { materialNotFound, readRequestId, requireUserId } from '../requests.ts';
import { resolvePreset } from './presets.ts';
import { snoozedNextReviewTime } from './snooze.ts';
import { createSnoozeCancellationHandlers } from './snooze-cancellation-handlers.ts';
import { createSnoozeHistoryHandlers } from './snooze-history-handlers.ts';
import { fromSnoozePreset, toSnoozeMessage } from './snooze-mapper.ts';
import { requireDistinctMaterialIds, requireFuture, requireReason } from './snooze-requests.ts';
import { insertSnooze, type Snooze, type SnoozedMaterial } from './snoozes-repository.ts';

const MAX_ACTOR_CHARACTERS = 200;
const MAX_X_REQUEST_ID_CHARACTERS = 128;

export function createSnoozeHandlers(
  dependencies: HandlerDependencies,
): AsyncHandlers<SnoozeServiceHandlers> {
  const { database, now, newId } = dependencies;
  // Concurrent snoozes of one material would each hold a database connection while they wait for it.
  const exclusively = atMostPerKey<string>(1);
  return {
    ...createSnoozeHistoryHandlers(dependencies),
    ...createSnoozeCancellationHandlers(dependencies),

    async SnoozeMaterials(request, context) {
      const userId = requireUserId(request.userId);
      const requestId = readRequestId(request.requestId);
      const reason = requireReason(request.reason);
      const materialIds = requireDistinctMaterialIds(request.materialIds);
      const write = async (transaction: Queryable) => {
        const locked = await lockMaterials(transaction, userId, materialIds.filter(isUuid));
        // Read under the locks, so that no material's update time goes back. Checked only for a new write: a replay succeeds even
        // if the instant has passed.
        const createTime = now();
        const snoozeUntilTime = readSnoozeUntil(request, createTime);
        const snooze: Snooze = {
          ...{ snoozeId: newId(createTime), snoozeUntilTime, reason, createTime },
          actor: context.caller.slice(0, MAX_ACTOR_CHARACTERS),
          requestId: context.requestId.slice(0, MAX_X_REQUEST_ID_CHARACTERS),
        };
        await insertSnooze(transaction, userId, snooze, postpone(locked, materialIds, snooze));
        const made = {
          materialIds: [...materialIds],
          cancelTime: null,
          cancellableMaterials: materialIds.length,
        };
        return { response: { snooze: toSnoozeMessage({ ...snooze, ...made }) }, materialIds };
      };
      const key = { userId, rpc: 'SnoozeMaterials', requestId };
      // Fingerprints the preset, neither the resolved instant nor the time zone, which is the account's: so a retry still matches an
      // hour later, or after the account has moved.
      const { preset, timeZone } = request;
      const snoozeUntilTime = request.snoozeUntilTime && fromTimestamp(request.snoozeUntilTime);
      const fields = {
        materialIds,
        snoozeUntilTime: snoozeUntilTime ?? undefined,
        preset: preset === 'SNOOZE_PRESET_UNSPECIFIED' ? undefined : preset,
        reason: reason || undefined,
      };
      const positional = [materialIds, snoozeUntilTime, preset, timeZone, reason];
      return exclusively(userId, async () => {
        // A caller that disconnected while waiting would not see the response and would repeat the snooze.
        if (context.signal.aborted) throw new ServiceError('UNAVAILABLE');
        if (requestId === '') return (await database.transaction(write)).response;
        return executeIdempotently(dependencies, key, fields, write, positional);
      });
    },
  };
}

/** Validates both the instant and the preset if both are given; the instant wins. */
function readSnoozeUntil(request: SnoozeMaterialsRequest, now: Date): Date {
  const until = request.snoozeUntilTime && requireFuture(request.snoozeUntilTime, now);
  const preset = fromSnoozePreset(request.preset);
  if (preset !== undefined && !isTimeZone(request.timeZone)) {
    throw invalidField('time_zone', 'must be an IANA time zone such as "Europe/Berlin" with a preset.');
  }
  if (until !== null) return until;
  if (preset !== undefined) return resolvePreset(preset, now, request.timeZone);
  throw invalidField('snooze_until_time', 'or preset must be given.');
}

/** In the order of `materialIds`. @throws NOT_FOUND if one of them is not among the locked materials. */
function postpone(
  locked: readonly Material[],
  materialIds: readonly string[],
  { snoozeUntilTime, createTime }: Snooze,
): SnoozedMaterial[] {
  const byId = new Map(locked.map((material) => [material.materialId, material]));
  return materialIds.map((materialId) => {
    const material = byId.get(materialId);
    if (material === undefined) throw materialNotFound(materialId);
    const { nextReviewTime, revision } = material;
    return {
      materialId,
      beforeNextReviewTime: nextReviewTime,
      afterNextReviewTime: snoozedNextReviewTime(nextReviewTime, snoozeUntilTime, createTime),
      revision: revision + 1,
    };
  });
}
