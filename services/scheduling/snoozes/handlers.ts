// The rpcs of scheduling.v1.SnoozeService.
import type { ListSnoozesRequest } from '../../../generated/scheduling/v1/ListSnoozesRequest.ts';
import type { SnoozeInput } from '../../../generated/scheduling/v1/Snooze.ts';
import type { SnoozeMaterialsRequest } from '../../../generated/scheduling/v1/SnoozeMaterialsRequest.ts';
import type { SnoozeServiceHandlers } from '../../../generated/scheduling/v1/SnoozeService.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers, CallContext } from '../../platform/grpc/handlers.ts';
import { fromTimestamp, type Timestamp } from '../../platform/instants.ts';
import {
  byTime,
  decodePageToken,
  readPageSize,
  readTimePosition,
  toPage,
} from '../../platform/page-token.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { enumReader } from '../../platform/protobuf/enums.ts';
import { codePointLength } from '../../platform/text.ts';
import { isTimeZone, requireTimeZone } from '../../platform/time-zone.ts';
import { isUuid, readUuid, requireUserId } from '../../platform/uuid.ts';
import type { Now } from '../clock.ts';
import { writeOnce } from '../idempotency.ts';
import type { Material } from '../materials/material.ts';
import { toSnoozeMessage } from '../messages.ts';
import {
  type HandlerDependencies,
  materialNotFound,
  readMaterialIds,
  readRequestId,
  refuseStart,
  requireMaterialId,
  requireStorable,
  userDeleted,
} from '../requests.ts';
import { findMaterials, lockLearner, lockMaterials, SHARE_USER } from '../rows.ts';
import { nextDays, spanOf } from '../statistics/calendar.ts';
import {
  isMoved,
  resolvePreset,
  SNOOZE_PRESETS,
  type Snooze,
  type SnoozedMaterial,
  snoozedNextReviewTime,
} from './rules.ts';
import { MAX_SPREAD, MAX_SPREAD_DAYS, SPREAD_ORDERS, spread } from './spread.ts';
import {
  cancelSnooze,
  countBacklog,
  countScheduled,
  findSnooze,
  insertSnooze,
  listBacklog,
  listCancellable,
  listSnoozes,
  listSnoozesOfMaterial,
} from './sql.ts';

const MAX_REASON_CODE_POINTS = 500;
/** Of one snooze, in a message. */
const MAX_LISTED_MATERIALS = 100;
/** For a statement that can change `MAX_SPREAD` materials. */
const OF_MANY = { statementTimeoutMs: 10_000 };

const readOrder = enumReader('order', 'SPREAD_ORDER', SPREAD_ORDERS);
const readPreset = enumReader('preset', 'SNOOZE_PRESET', SNOOZE_PRESETS);

export function createSnoozeHandlers(
  dependencies: HandlerDependencies,
): AsyncHandlers<SnoozeServiceHandlers> {
  const { database, now, newId } = dependencies;
  const newSnooze = (
    { caller: actor, requestId, apiKeyId }: CallContext,
    createTime: Date,
    what: Pick<Snooze, 'snoozeUntilTime' | 'reason' | 'spreadDays'>,
  ): Snooze => ({
    snoozeId: newId(createTime),
    createTime,
    actor,
    requestId,
    apiKeyId: apiKeyId ?? null,
    ...what,
  });
  return {
    async SnoozeMaterials(request, context) {
      const userId = requireUserId(request.userId);
      const requestId = readRequestId(request.requestId);
      const reason = requireReason(request.reason);
      const materialIds = requireDistinctMaterialIds(request.materialIds);
      const write = async (transaction: Queryable) => {
        const locked = await lockMaterials(transaction, userId, materialIds.filter(isUuid), {
          withTexts: false,
        });
        // A caller that disconnected while this waited would not see the response, and would repeat the snooze.
        context.signal.throwIfAborted();
        // Read under the locks, so that no material's update time goes back. Checked only for a new write: a replay succeeds even
        // if the instant has passed.
        const createTime = await now(userId, transaction);
        const snoozeUntilTime = readSnoozeUntil(request, createTime);
        const snooze = newSnooze(context, createTime, { snoozeUntilTime, reason, spreadDays: null });
        const snoozed = postpone(locked, materialIds, snooze);
        await insertSnooze(transaction, userId, snooze, snoozed);
        return { response: { snooze: toNewSnoozeMessage(snooze, snoozed) }, materialIds };
      };
      const key = { userId, rpc: 'SnoozeMaterials', requestId };
      // The fingerprint has the preset, not the resolved instant or the account's time zone: so a retry still matches
      // an hour later, or in another time zone.
      const { preset } = request;
      const snoozeUntilTime =
        request.snoozeUntilTime && fromTimestamp(request.snoozeUntilTime, 'snooze_until_time');
      const fields = {
        materialIds,
        snoozeUntilTime: snoozeUntilTime ?? undefined,
        preset: preset === 'SNOOZE_PRESET_UNSPECIFIED' ? undefined : preset,
        reason: reason || undefined,
      };
      return writeOnce(dependencies, key, fields, write);
    },

    async SpreadBacklog(request, context) {
      const userId = requireUserId(request.userId);
      const requestId = readRequestId(request.requestId);
      const timeZone = requireTimeZone('time_zone', request.timeZone);
      const days = requireCount('days', request.days, MAX_SPREAD_DAYS);
      const perDay =
        request.perDay === undefined ? undefined : requireCount('per_day', request.perDay, MAX_SPREAD);
      const order = readOrder(request.order) ?? 'oldest';
      const wanted = { days, perDay, timeZone };
      if (request.dryRun) {
        const time = await now(userId);
        const backlog = await countBacklog(database, userId, time);
        const movable = Math.min(backlog, MAX_SPREAD);
        const { shown } = await planSpread(database, userId, { ...wanted, time, backlog, movable });
        return shown;
      }
      const write = async (transaction: Queryable) => {
        // Without due materials, nothing else would refuse a deleted user.
        if (!(await lockLearner(transaction, userId, SHARE_USER))) throw userDeleted();
        const listed = await listBacklog(transaction, userId, {
          order,
          now: await now(userId, transaction),
          limit: MAX_SPREAD,
        });
        const locked = await lockMaterials(transaction, userId, listed, { withTexts: false });
        context.signal.throwIfAborted();
        const createTime = await now(userId, transaction);
        const byId = new Map(locked.map((material) => [material.materialId, material]));
        // Others may have been reviewed or snoozed before they were locked.
        const due = listed.flatMap((id) => byId.get(id) ?? []).filter((each) => isDue(each, createTime));
        const backlog = await countBacklog(transaction, userId, createTime);
        const plan = { ...wanted, time: createTime, backlog, movable: due.length };
        const { shown, dueTimes } = await planSpread(transaction, userId, plan);
        const moved = due.slice(0, dueTimes.length);
        const snoozeUntilTime = dueTimes.at(-1);
        if (snoozeUntilTime === undefined) return { response: shown, materialIds: [] };
        const snooze = newSnooze(context, createTime, { snoozeUntilTime, reason: '', spreadDays: days });
        const effects = moved.map(({ materialId, nextReviewTime, revision }, index) => ({
          materialId,
          beforeNextReviewTime: nextReviewTime,
          afterNextReviewTime: dueTimes[index] ?? snoozeUntilTime,
          revision: revision + 1,
        }));
        await insertSnooze(transaction, userId, snooze, effects);
        const materialIds = moved.map(({ materialId }) => materialId);
        return { response: { snooze: toNewSnoozeMessage(snooze, effects), ...shown }, materialIds };
      };
      const fields = { days, perDay, order: order === 'oldest' ? undefined : order };
      return writeOnce(dependencies, { userId, rpc: 'SpreadBacklog', requestId }, fields, write, OF_MANY);
    },

    async ListSnoozes(request) {
      const userId = requireUserId(request.userId);
      const pageSize = readPageSize(request.pageSize);
      if (request.materialId !== '') return listOfMaterial(userId, pageSize, request);
      const bound = ['ListSnoozes', userId, ''];
      const position = readTimePosition(request, bound);
      const after = position && { createTime: position.time, snoozeId: position.id };
      const rows = await listSnoozes(database, userId, {
        limit: pageSize + 1,
        after,
        now: await now(userId),
      });
      const { page, nextPageToken } = toPage(rows, pageSize, bound, ({ createTime, snoozeId }) =>
        byTime(createTime, snoozeId),
      );
      return { snoozes: page.map(toSnoozeMessage), nextPageToken };
    },

    async CancelSnooze(request) {
      const userId = requireUserId(request.userId);
      const snoozeId = readUuid(request.snoozeId);
      if (snoozeId === undefined) throw snoozeNotFound();
      const materialIds = await database.transaction((tx) => putBack(tx, { userId, snoozeId, now }), OF_MANY);
      return { materialIds };
    },
  };

  async function listOfMaterial(userId: string, pageSize: number, request: ListSnoozesRequest) {
    const materialId = requireMaterialId(request.materialId);
    refuseStart(request);
    const bound = ['ListSnoozes', userId, materialId];
    const beforeRevision = decodePageToken(request.pageToken, bound, ['count'])?.keys[0] ?? undefined;
    const limit = pageSize + 1;
    const rows = await listSnoozesOfMaterial(database, userId, materialId, {
      limit,
      beforeRevision,
      now: await now(userId),
    });
    if (rows.length === 0) {
      const [material] = await findMaterials(database, [{ userId, materialId }]);
      if (material === undefined) throw materialNotFound(materialId);
    }
    const { page, nextPageToken } = toPage(rows, pageSize, bound, ({ revision, snoozeId }) => ({
      keys: [revision],
      id: snoozeId,
    }));
    return { snoozes: page.map(toSnoozeMessage), nextPageToken };
  }
}

/** Of a snooze that was just made, with what it did to its materials. */
function toNewSnoozeMessage(snooze: Snooze, snoozed: readonly SnoozedMaterial[]): SnoozeInput {
  const movedMaterials = snoozed.filter(isMoved).length;
  return toSnoozeMessage({
    ...snooze,
    materialIds: snoozed.slice(0, MAX_LISTED_MATERIALS).map(({ materialId }) => materialId),
    materialCount: snoozed.length,
    cancelTime: null,
    cancellableMaterials: movedMaterials,
    movedMaterials,
  });
}

const isDue = ({ nextReviewTime, archiveTime }: Material, now: Date) =>
  archiveTime === null && (nextReviewTime === null || nextReviewTime <= now);

/**
 * What a spread does to each day. `backlog`: how many are due at `time`; `movable`: how many of them it may move.
 * @returns what is answered, and the new time of each material that is moved, in their order.
 */
async function planSpread(
  db: Queryable,
  userId: string,
  plan: {
    days: number;
    perDay: number | undefined;
    timeZone: string;
    time: Date;
    backlog: number;
    movable: number;
  },
) {
  const { days, perDay, timeZone, time: now, backlog, movable } = plan;
  const [today = '', ...dates] = nextDays(now, days + 1, timeZone).dates;
  const spans = dates.flatMap((date) => spanOf(date, timeZone) ?? []);
  const starts = spans.map(({ startTime }) => startTime);
  const end = spans.at(-1)?.endTime ?? now;
  const [laterToday = 0, ...scheduled] = await countScheduled(db, userId, { now, starts, end });
  const { added, left } = spread(movable, scheduled, perDay);
  const stays = backlog - movable + left;
  const coming = dates.map((date, day) => {
    const dueBefore = scheduled[day] ?? 0;
    return { date, dueBefore, dueAfter: dueBefore + (added[day] ?? 0) };
  });
  const first = { date: today, dueBefore: backlog + laterToday, dueAfter: stays + laterToday };
  return {
    shown: { days: [first, ...coming], left: stays },
    dueTimes: starts.flatMap((start, day) => Array.from({ length: added[day] ?? 0 }, () => start)),
  };
}

function requireCount(field: string, count: number, max: number): number {
  if (count < 1 || count > max) throw invalidField(field, `must be a whole number from 1 to ${max}.`);
  return count;
}

/** Validates both the instant and the preset if both are given; the instant wins. */
function readSnoozeUntil(request: SnoozeMaterialsRequest, now: Date): Date {
  const until = request.snoozeUntilTime && requireFuture(request.snoozeUntilTime, now);
  const preset = readPreset(request.preset);
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

/** Cancels a snooze. @returns the IDs of the materials whose earlier due times were restored. */
async function putBack(
  transaction: Queryable,
  { userId, snoozeId, now }: { userId: string; snoozeId: string; now: Now },
): Promise<string[]> {
  const snooze = await findSnooze(transaction, userId, snoozeId);
  if (snooze === undefined) throw snoozeNotFound();
  // Locked first, so that what was read of them stays true, and no update time goes back.
  const locked = await lockMaterials(transaction, userId, snooze.materialIds, { withTexts: false });
  const cancelTime = await now(userId, transaction);
  if (snooze.snoozeUntilTime <= cancelTime) return [];
  const revisionOf = new Map(locked.map(({ materialId, revision }) => [materialId, revision]));
  const cancellable = await listCancellable(transaction, userId, snoozeId);
  // A material that was not locked is just being restored by an import.
  const waiting = cancellable.flatMap((material) => {
    const revision = revisionOf.get(material.materialId);
    return revision === undefined ? [] : [{ ...material, revision: revision + 1 }];
  });
  if (waiting.length === 0) return [];
  await cancelSnooze(transaction, { userId, snoozeId, cancelTime }, waiting);
  return waiting.map(({ materialId }) => materialId);
}

function snoozeNotFound(): ServiceError {
  return new ServiceError('NOT_FOUND', { message: 'There is no such snooze.' });
}

function requireReason(reason: string): string {
  if (codePointLength(requireStorable('reason', reason)) > MAX_REASON_CODE_POINTS) {
    throw invalidField('reason', `must have at most ${MAX_REASON_CODE_POINTS} characters.`);
  }
  return reason;
}

/** 1 to 100 IDs without duplicates; malformed IDs are kept and match no material. */
function requireDistinctMaterialIds(materialIds: readonly string[]): readonly string[] {
  const distinct = readMaterialIds(materialIds);
  if (distinct.length < materialIds.length) {
    throw invalidField('material_ids', 'must not name a material twice.');
  }
  return distinct;
}

function requireFuture(snoozeUntilTime: Timestamp, now: Date): Date {
  const time = fromTimestamp(snoozeUntilTime, 'snooze_until_time');
  if (time <= now) throw invalidField('snooze_until_time', 'must be later than now.');
  return time;
}
