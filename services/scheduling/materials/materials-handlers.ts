// The rpcs of scheduling.v1.MaterialService for single materials.
import type { MaterialServiceHandlers } from '../../../generated/scheduling/v1/MaterialService.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { type Answer, executeIdempotently } from '../idempotency/idempotency.ts';
import { deleteRecordsOfMaterial } from '../idempotency/idempotency-repository.ts';
import {
  materialNotFound,
  readMaterialIds,
  readRequestId,
  requireMaterial,
  requireMaterialId,
  requireUserId,
} from '../requests.ts';
import { type Material, newMaterial } from './material.ts';
import type { MaterialListHandlers } from './material-lists-handlers.ts';
import { fromMaterialType, fromMaterialView, toMaterialMessage } from './material-mapper.ts';
import { readContent, readNewText, readSourceUrl, requireTitle } from './material-requests.ts';
import {
  deleteMaterial,
  findMaterialOwner,
  findMaterialsOfUser,
  insertMaterial,
  lockMaterials,
  updateMaterial,
} from './materials-repository.ts';

type SingleMaterialHandlers = Omit<AsyncHandlers<MaterialServiceHandlers>, keyof MaterialListHandlers>;
type WriteRequest = { userId: string; materialId: string; requestId: string };

export function createMaterialHandlers(dependencies: HandlerDependencies): SingleMaterialHandlers {
  const { database, now, newId } = dependencies;

  /** Changes a material under its lock; writes nothing if `change` returns it unchanged. */
  const edit = async (
    rpc: string,
    request: WriteRequest,
    text: Partial<Material> | undefined,
    change: (material: Material, time: Date) => Material,
  ) => {
    const userId = requireUserId(request.userId);
    const materialId = requireMaterialId(request.materialId);
    const requestId = readRequestId(request.requestId);
    const write = async (transaction: Queryable) => {
      const material = await requireLocked(transaction, userId, materialId);
      const updateTime = now();
      const changed = change(material, updateTime);
      if (changed === material) return answer(material);
      const stored = { ...changed, updateTime, revision: material.revision + 1 };
      await updateMaterial(transaction, userId, stored);
      return answer(stored);
    };
    if (requestId !== '') {
      const positional = text === undefined ? [materialId] : [materialId, text];
      return executeIdempotently(
        dependencies,
        { userId, rpc, requestId },
        { materialId, ...text },
        write,
        positional,
      );
    }
    return (await database.transaction(write)).response;
  };

  return {
    async CreateMaterial(request) {
      const userId = requireUserId(request.userId);
      const requestId = readRequestId(request.requestId);
      const text = {
        title: requireTitle(request.title),
        content: readContent(request.content),
        sourceUrl: readSourceUrl(request.sourceUrl),
        type: fromMaterialType(request.type) ?? 'simple',
      };
      const write = async (db: Queryable) => {
        const createTime = now();
        const material = newMaterial(text, createTime, newId(createTime));
        if (await insertMaterial(db, userId, material)) return answer(material);
        throw new ServiceError('NOT_FOUND', {
          field: 'user_id',
          message: 'The data of this user were deleted.',
        });
      };
      if (requestId === '') return (await write(database)).response;
      const { title, content, sourceUrl, type } = text;
      const fields = {
        title,
        content: content ?? undefined,
        sourceUrl: sourceUrl ?? undefined,
        type: type === 'simple' ? undefined : type,
      };
      const key = { userId, rpc: 'CreateMaterial', requestId };
      return executeIdempotently(dependencies, key, fields, write, [title, content, sourceUrl, type]);
    },

    async GetMaterial(request) {
      const userId = requireUserId(request.userId);
      const materialId = requireMaterialId(request.materialId);
      return { material: toMaterialMessage(await requireMaterial(database, userId, materialId)) };
    },

    async FindMaterialOwner(request) {
      const userId = await findMaterialOwner(database, requireMaterialId(request.materialId));
      if (userId === undefined) throw materialNotFound(request.materialId);
      return { userId };
    },

    async BatchGetMaterials(request) {
      const userId = requireUserId(request.userId);
      const materialIds = readMaterialIds(request.materialIds);
      const withTexts = fromMaterialView(request.view) === 'full';
      const found = await findMaterialsOfUser(database, userId, materialIds.filter(isUuid), withTexts);
      const byId = new Map(found.map((material) => [material.materialId, material]));
      const inOrder = materialIds.flatMap((materialId) => byId.get(materialId) ?? []);
      return { materials: inOrder.map(toMaterialMessage) };
    },

    async UpdateMaterial(request) {
      const text = readNewText(request);
      return edit('UpdateMaterial', request, text, (material) => ({ ...material, ...text }));
    },

    ArchiveMaterial: (request) =>
      edit('ArchiveMaterial', request, undefined, (material, archiveTime) =>
        material.archiveTime === null ? { ...material, archiveTime } : material,
      ),

    RestoreMaterial: (request) =>
      edit('RestoreMaterial', request, undefined, (material) =>
        material.archiveTime === null ? material : { ...material, archiveTime: null },
      ),

    async DeleteMaterial(request) {
      const userId = requireUserId(request.userId);
      const materialId = requireMaterialId(request.materialId);
      const requestId = readRequestId(request.requestId);
      const write = async (transaction: Queryable) => {
        // Records first, since a write locks its expired record before the material; then those that were stored meanwhile.
        await deleteRecordsOfMaterial(transaction, userId, materialId);
        await requireLocked(transaction, userId, materialId);
        await deleteMaterial(transaction, userId, materialId);
        await deleteRecordsOfMaterial(transaction, userId, materialId);
        return { response: {}, materialIds: [] };
      };
      if (requestId === '') return (await database.transaction(write)).response;
      return executeIdempotently(
        dependencies,
        { userId, rpc: 'DeleteMaterial', requestId },
        { materialId },
        write,
      );
    },
  };
}

function answer(material: Material): Answer<{ material: ReturnType<typeof toMaterialMessage> }> {
  return { response: { material: toMaterialMessage(material) }, materialIds: [material.materialId] };
}

async function requireLocked(transaction: Queryable, userId: string, materialId: string): Promise<Material> {
  const [material] = await lockMaterials(transaction, userId, [materialId]);
  if (material === undefined) throw materialNotFound(materialId);
  return material;
}
