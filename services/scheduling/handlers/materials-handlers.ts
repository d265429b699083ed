// The rpcs of scheduling.v1.MaterialService that are about single materials.
import type { MaterialServiceHandlers } from '../../../generated/scheduling/v1/MaterialService.ts';
import type { UpdateMaterialRequest } from '../../../generated/scheduling/v1/UpdateMaterialRequest.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc-server.ts';
import type { Queryable } from '../../platform/postgres.ts';
import { isUuid } from '../../platform/text.ts';
import type { Material } from '../domain/material.ts';
import { INITIAL_SCHEDULE } from '../domain/sm2.ts';
import { forgetMaterial } from '../repositories/answered-requests-repository.ts';
import {
  deleteMaterial,
  findMaterial,
  findMaterials,
  insertMaterial,
  lockMaterials,
  updateMaterial,
} from '../repositories/materials-repository.ts';
import {
  materialNotFound,
  readContent,
  readMaterialIds,
  readRequestId,
  readSourceUrl,
  readUpdateMask,
  requireMaterialId,
  requireTitle,
  requireUserId,
} from '../requests.ts';
import { fromMaterialType, fromMaterialView, toMaterialMessage } from '../wire.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { type Answer, once } from './once.ts';

type SingleMaterialHandlers = Omit<
  AsyncHandlers<MaterialServiceHandlers>,
  'ListMaterials' | 'ListDueMaterials' | 'BatchListMaterials' | 'BatchListDueMaterials'
>;
type WriteRequest = { userId: string; materialId: string; requestId: string };

export function createMaterialHandlers(dependencies: HandlerDependencies): SingleMaterialHandlers {
  const { database, now, newId } = dependencies;

  /** Changes a material under its lock; `change` returning it as it is changes nothing. */
  const edit = async (
    rpc: string,
    request: WriteRequest,
    fields: readonly unknown[],
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
    if (requestId !== '')
      return once(dependencies, { userId, rpc, requestId }, [materialId, ...fields], write);
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
        const material = newMaterial(text, now(), newId);
        if (await insertMaterial(db, userId, material)) return answer(material);
        throw new ServiceError('NOT_FOUND', {
          field: 'user_id',
          message: 'The data of this user were deleted.',
        });
      };
      if (requestId === '') return (await write(database)).response;
      return once(dependencies, { userId, rpc: 'CreateMaterial', requestId }, Object.values(text), write);
    },

    async GetMaterial(request) {
      const userId = requireUserId(request.userId);
      const material = await findMaterial(database, userId, requireMaterialId(request.materialId));
      if (material === undefined) throw materialNotFound(request.materialId);
      return { material: toMaterialMessage(material) };
    },

    async BatchGetMaterials(request) {
      const userId = requireUserId(request.userId);
      const materialIds = readMaterialIds(request.materialIds);
      const withTexts = fromMaterialView(request.view) === 'full';
      const found = await findMaterials(database, userId, materialIds.filter(isUuid), withTexts);
      const byId = new Map(found.map((material) => [material.materialId, material]));
      const inOrder = materialIds.flatMap((materialId) => byId.get(materialId) ?? []);
      return { materials: inOrder.map(toMaterialMessage) };
    },

    async UpdateMaterial(request) {
      const text = readNewText(request);
      return edit('UpdateMaterial', request, [text], (material) => ({ ...material, ...text }));
    },

    ArchiveMaterial: (request) =>
      edit('ArchiveMaterial', request, [], (material, archiveTime) =>
        material.archiveTime === null ? { ...material, archiveTime } : material,
      ),

    RestoreMaterial: (request) =>
      edit('RestoreMaterial', request, [], (material) =>
        material.archiveTime === null ? material : { ...material, archiveTime: null },
      ),

    async DeleteMaterial(request) {
      const userId = requireUserId(request.userId);
      const materialId = requireMaterialId(request.materialId);
      const requestId = readRequestId(request.requestId);
      const write = async (transaction: Queryable) => {
        await requireLocked(transaction, userId, materialId);
        await deleteMaterial(transaction, userId, materialId);
        await forgetMaterial(transaction, userId, materialId);
        return { response: {}, materialIds: [] };
      };
      if (requestId === '') return (await database.transaction(write)).response;
      return once(dependencies, { userId, rpc: 'DeleteMaterial', requestId }, [materialId], write);
    },
  };
}

function newMaterial(
  text: Pick<Material, 'title' | 'content' | 'sourceUrl' | 'type'>,
  createTime: Date,
  newId: (time: Date) => string,
): Material {
  return {
    materialId: newId(createTime),
    ...text,
    schedule: INITIAL_SCHEDULE,
    nextReviewTime: createTime,
    lastReviewedTime: null,
    createTime,
    updateTime: createTime,
    archiveTime: null,
    revision: 0,
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

/** The fields that change, with their new values. */
function readNewText(request: UpdateMaterialRequest): Partial<Material> {
  const type = fromMaterialType(request.type);
  const paths = readUpdateMask(request.updateMask, { ...request, type });
  return {
    ...(paths.has('title') && { title: requireTitle(request.title ?? '') }),
    ...(paths.has('content') && { content: readContent(request.content) }),
    ...(paths.has('source_url') && { sourceUrl: readSourceUrl(request.sourceUrl) }),
    ...(paths.has('type') && { type: type ?? 'simple' }),
  };
}
