// The rpc of scheduling.v1.SnoozeService that reads the history.
import type { ListSnoozesRequest } from '../../../generated/scheduling/v1/ListSnoozesRequest.ts';
import type { SnoozeServiceHandlers } from '../../../generated/scheduling/v1/SnoozeService.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import {
  byTime,
  decodePageToken,
  readPageSize,
  readTimePosition,
  toPage,
} from '../../platform/page-token.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { refuseStart, requireMaterial, requireMaterialId, requireUserId } from '../requests.ts';
import { listSnoozes, listSnoozesOfMaterial } from './snooze-lists-repository.ts';
import { toSnoozeMessage } from './snooze-mapper.ts';

export function createSnoozeHistoryHandlers(
  dependencies: HandlerDependencies,
): Pick<AsyncHandlers<SnoozeServiceHandlers>, 'ListSnoozes'> {
  const { database, now } = dependencies;
  return {
    async ListSnoozes(request) {
      const userId = requireUserId(request.userId);
      const pageSize = readPageSize(request.pageSize);
      if (request.materialId !== '') return listOfMaterial(dependencies, userId, pageSize, request);
      const bound = ['ListSnoozes', userId, ''];
      const position = readTimePosition(request, bound);
      const rows = await listSnoozes(database, userId, {
        limit: pageSize + 1,
        after: position && { createTime: position.time, snoozeId: position.id },
        order: 'latest first',
        now: now(),
      });
      const { page, nextPageToken } = toPage(rows, pageSize, bound, ({ createTime, snoozeId }) =>
        byTime(createTime, snoozeId),
      );
      return { snoozes: page.map(toSnoozeMessage), nextPageToken };
    },
  };
}

async function listOfMaterial(
  { database, now }: HandlerDependencies,
  userId: string,
  pageSize: number,
  request: ListSnoozesRequest,
) {
  const materialId = requireMaterialId(request.materialId);
  refuseStart(request);
  const bound = ['ListSnoozes', userId, materialId];
  const beforeRevision = decodePageToken(request.pageToken, bound, ['count'])?.keys[0] ?? undefined;
  const limit = pageSize + 1;
  const rows = await listSnoozesOfMaterial(database, userId, materialId, {
    limit,
    beforeRevision,
    now: now(),
  });
  if (rows.length === 0) await requireMaterial(database, userId, materialId);
  const { page, nextPageToken } = toPage(rows, pageSize, bound, ({ revision, snoozeId }) => ({
    keys: [revision],
    id: snoozeId,
  }));
  return { snoozes: page.map(toSnoozeMessage), nextPageToken };
}
