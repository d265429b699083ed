// The rpcs of scheduling.v1.MaterialService.
import type { MaterialServiceHandlers } from '../../../generated/scheduling/v1/MaterialService.ts';
import type { MaterialView } from '../../../generated/scheduling/v1/MaterialView.ts';
import { atMostPerKey, createFairQueue } from '../../platform/concurrency.ts';
import { invalidField } from '../../platform/errors.ts';
import { changesNothing } from '../../platform/field-mask.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { readLabels } from '../../platform/labels.ts';
import { decodePageToken, type Position, readPageSize, toPage } from '../../platform/page-token.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { enumReader } from '../../platform/protobuf/enums.ts';
import { isUuid, requireIdEnding, requireUserId } from '../../platform/uuid.ts';
import { deleteRecordsOfMaterial, writeOnce } from '../idempotency.ts';
import { readMaterialType, readMaterialView, readNewText, readText, toMaterialMessage } from '../messages.ts';
import {
  type HandlerDependencies,
  materialNotFound,
  readMaterialIds,
  readRequestId,
  requireMaterialId,
  requireShortText,
  userDeleted,
} from '../requests.ts';
import { findMaterials, lockMaterials } from '../rows.ts';
import { type Material, type MaterialFilter, type MaterialSort, newMaterial } from './material.ts';
import { searchMaterials } from './search.ts';
import {
  countByLabel,
  countMaterialsOfUser,
  deleteMaterial,
  findMaterialOwners,
  findMaterialsOfUser,
  insertMaterial,
  kindOf,
  type ListedMaterial,
  listDueMaterials,
  listNewestMaterials,
  listSortedMaterials,
  MAX_BYTES,
  NO_TEXTS,
  type PageLimits,
  type PageRequest,
  replaceLabels,
  SHARED_BYTES,
  updateMaterial,
} from './sql.ts';

/** The most labels in a response. */
const MAX_LABEL_COUNTS = 10_000;
/** Fits a title of maximum length in four-byte characters. */
const MAX_QUERY_BYTES = 1024;

/** Concurrent costly reads (searches, sorted lists, further pages with texts), for a pool of 16 connections and two CPUs. */
const COSTLY_AT_ONCE = 3;

/** Of a user, so that others get a connection and CPU: PostgreSQL works 50 ms to store 256 KiB. */
const LONG_TEXTS_AT_ONCE = 2;
/** In UTF-16 code units. To store less costs hardly more than any other write. */
const LONG_TEXT = 16 * 1024;

const readState = enumReader('state', 'MATERIAL_STATE', ['active', 'archived', 'any']);
const readDueState = enumReader('due', 'DUE_STATE', ['due', 'notDue']);
const readOrder = enumReader('order', 'MATERIAL_ORDER', ['newest', 'nextReview', 'lastReview', 'ease']);

type WriteRequest = { userId: string; materialId: string; requestId: string };

export function createMaterialHandlers(
  dependencies: HandlerDependencies,
): AsyncHandlers<MaterialServiceHandlers> {
  const { database, gathered, now, newId, isDistributed } = dependencies;
  const find = gathered(findMaterials);
  const listNewest = gathered(listNewestMaterials);
  const listDue = gathered(listDueMaterials);
  const costly = createFairQueue(COSTLY_AT_ONCE);
  const longTexts = atMostPerKey<string>(LONG_TEXTS_AT_ONCE);

  /** Runs `write`, which stores the texts. */
  const store = async <T>(
    { userId, content, sourceUrl }: { userId: string } & Partial<Material>,
    { signal }: { signal: AbortSignal },
    write: () => Promise<T>,
  ): Promise<T> => {
    const length = (content?.length ?? 0) + (sourceUrl?.length ?? 0);
    if (length <= LONG_TEXT) return write();
    return longTexts(userId, () => {
      // A caller that disconnected while this waited would not see the response, and would repeat the write.
      signal.throwIfAborted();
      return write();
    });
  };

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
      const updateTime = await now(userId, transaction);
      const changed = change(material, updateTime);
      if (changed === material) return answer(material, true);
      const stored = { ...changed, updateTime, revision: material.revision + 1 };
      await updateMaterial(transaction, userId, stored);
      const { labels } = stored;
      if (labels !== material.labels)
        await replaceLabels(transaction, userId, materialId, { before: material.labels, labels });
      return answer(stored);
    };
    return writeOnce(dependencies, { userId, rpc, requestId }, { materialId, ...text }, write);
  };

  /**
   * A page in an order. `cheap`, where there is one, reads the first page, with fewer bytes of texts, and pages without texts. Where a
   * list of full materials goes on, its texts are long: each further page is read by itself, in the queue of costly reads.
   */
  const readPage = async <Q extends PageRequest>(
    item: Q,
    signal: AbortSignal,
    sorted: { sort: MaterialSort; filter: MaterialFilter },
    cheap: ((item: Q) => Promise<readonly ListedMaterial[]>) | undefined,
  ): Promise<readonly ListedMaterial[]> => {
    if (cheap !== undefined && (item.after === undefined || item.maxBytes === NO_TEXTS))
      return cheap({ ...item, maxBytes: Math.min(item.maxBytes, SHARED_BYTES) });
    return costly.run(item.userId, signal, () => listSortedMaterials(database, sorted, item));
  };

  const list = async (sort: MaterialSort, item: ListItem, asked: AskedList, signal: AbortSignal) => {
    const { filter, request } = asked;
    const bound = sort === 'newest' ? asked.bound : [...asked.bound, sort];
    const position = decodePageToken(request.pageToken, bound, [SORT_KEYS[sort].kind]);
    const [value = null] = position?.keys ?? [];
    const after = position && {
      value: value === null || sort === 'ease' ? value : new Date(value),
      materialId: position.id,
    };
    const sorted = { sort, filter };
    const alone = (each: PageRequest) => listSortedMaterials(database, sorted, each);
    const newest = kindOf(filter) === kindOf(ACTIVE) ? listNewest : alone;
    const cheap = sort === 'newest' ? newest : undefined;
    const rows = await readPage({ ...item, after }, signal, sorted, cheap);
    return toListResponse(rows, item, bound, (material) => ({
      keys: [SORT_KEYS[sort].of(material)],
      id: material.materialId,
    }));
  };

  const search = async (item: ListItem, asked: AskedList, signal: AbortSignal) => {
    const { filter, query, bound, request } = asked;
    const position = decodePageToken(request.pageToken, bound, ['flag', 'instant']);
    const after = position && {
      createTime: new Date(position.keys[1] ?? 0),
      materialId: position.id,
      inTitle: position.keys[0] === 1,
    };
    const rows = await costly.run(item.userId, signal, () =>
      searchMaterials(database, item.userId, { ...filter, text: query }, { ...item, after, isDistributed }),
    );
    return toListResponse(rows, item, bound, ({ inTitle, createTime, materialId }) => ({
      keys: [inTitle ? 1 : 0, createTime.getTime()],
      id: materialId,
    }));
  };

  return {
    async CreateMaterial(request, call) {
      const userId = requireUserId(request.userId);
      const requestId = readRequestId(request.requestId);
      const text = readText(request);
      const write = async (db: Queryable) => {
        const createTime = await now(userId, db);
        const material = newMaterial(text, createTime, newId(createTime));
        if (await insertMaterial(db, userId, material)) return answer(material);
        throw userDeleted();
      };
      return store({ userId, ...text }, call, async () => {
        if (requestId === '') return (await write(database)).response;
        // Without defaults, so that it does not matter for the fingerprint whether they are sent.
        const given = Object.entries({ ...text, type: text.type === 'simple' ? null : text.type }).filter(
          ([, value]) => value !== null,
        );
        const key = { userId, rpc: 'CreateMaterial', requestId };
        return writeOnce(dependencies, key, Object.fromEntries(given), write);
      });
    },

    async GetMaterial(request) {
      const userId = requireUserId(request.userId);
      const materialId = requireMaterialId(request.materialId);
      const material = await find({ userId, materialId });
      if (material === undefined) throw materialNotFound(materialId);
      return { material: toMaterialMessage(material) };
    },

    async FindMaterialOwners(request) {
      const limit = readPageSize(request.pageSize);
      return { materials: await findMaterialOwners(database, requireIdEnding(request.idEnding), limit) };
    },

    async BatchGetMaterials(request) {
      const userId = requireUserId(request.userId);
      const materialIds = readMaterialIds(request.materialIds);
      const withTexts = readMaterialView(request.view) === 'full';
      const found = await findMaterialsOfUser(database, userId, materialIds.filter(isUuid), withTexts);
      const byId = new Map(found.map((material) => [material.materialId, material]));
      const inOrder = materialIds.flatMap((materialId) => byId.get(materialId) ?? []);
      return { materials: inOrder.map(toMaterialMessage) };
    },

    async CountMaterials(request) {
      const userId = requireUserId(request.userId);
      return countMaterialsOfUser(database, userId, await now(userId));
    },

    async CountLabels(request, { signal }) {
      const userId = requireUserId(request.userId);
      const labels = await costly.run(userId, signal, async () =>
        countByLabel(database, userId, { asOf: await now(userId), maxLabels: MAX_LABEL_COUNTS }),
      );
      return { labels };
    },

    async ListMaterials(request, { signal }) {
      const userId = requireUserId(request.userId);
      const pageSize = readPageSize(request.pageSize);
      const query = requireShortText('query', request.query, MAX_QUERY_BYTES);
      const state = readState(request.state) ?? 'active';
      const type = readMaterialType(request.type);
      const due = readDueState(request.due);
      const isDue = due && due === 'due';
      const item = { userId, ...readLimits(pageSize, request.view) };
      const order = readOrder(request.order) ?? 'newest';
      if (order !== 'newest' && query !== '')
        throw invalidField('order', 'must not be given together with query.');
      const labels = readLabels('labels', request.labels);
      const { leechesOnly: onlyLeeches } = request;
      const filter = { state, type, isDue, labels, onlyLeeches, now: await now(userId) };
      const bound = ['ListMaterials', userId, query, state, type, isDue, ...boundBy(labels)];
      if (onlyLeeches) bound.push('leeches');
      const asked = { filter, query, bound, request };
      return query === '' ? list(order, item, asked, signal) : search(item, asked, signal);
    },

    async ListDueMaterials(request, { signal }) {
      const userId = requireUserId(request.userId);
      const pageSize = readPageSize(request.pageSize);
      const labels = readLabels('labels', request.labels);
      const bound = ['ListDueMaterials', userId, ...boundBy(labels)];
      // The token contains "now", so that materials that become due between pages do not shift them.
      const position = decodePageToken(request.pageToken, bound, ['instant', 'instant or null']);
      const [asOfMs, nextReviewMs = null] = position?.keys ?? [];
      const asOf = typeof asOfMs === 'number' ? new Date(asOfMs) : await now(userId);
      const after = position && {
        value: nextReviewMs === null ? null : new Date(nextReviewMs),
        materialId: position.id,
      };
      const item = { userId, asOf, ...readLimits(pageSize, request.view), after };
      const filter = { ...ACTIVE, isDue: true, labels, now: asOf };
      const sorted = { sort: 'nextReview', filter } as const;
      const rows = await readPage(item, signal, sorted, labels === null ? listDue : undefined);
      return toListResponse(rows, item, bound, ({ nextReviewTime, materialId }) => ({
        keys: [asOf.getTime(), nextReviewTime?.getTime() ?? null],
        id: materialId,
      }));
    },

    async UpdateMaterial(request, call) {
      const text = readNewText(request);
      const change = (material: Material) =>
        changesNothing(material, text) ? material : { ...material, ...text };
      return store({ userId: requireUserId(request.userId), ...text }, call, () =>
        edit('UpdateMaterial', request, text, change),
      );
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
        // Idempotency records first, since a write locks its expired record before the material. Below, newer ones.
        await deleteRecordsOfMaterial(transaction, userId, materialId);
        const material = await requireLocked(transaction, userId, materialId);
        await deleteMaterial(transaction, userId, material);
        await deleteRecordsOfMaterial(transaction, userId, materialId);
        return { response: {}, materialIds: [] };
      };
      return writeOnce(dependencies, { userId, rpc: 'DeleteMaterial', requestId }, { materialId }, write);
    },
  };
}

function answer(material: Material, unchanged = false) {
  return {
    response: { material: toMaterialMessage(material), unchanged },
    materialIds: [material.materialId],
  };
}

async function requireLocked(transaction: Queryable, userId: string, materialId: string): Promise<Material> {
  const [material] = await lockMaterials(transaction, userId, [materialId]);
  if (material === undefined) throw materialNotFound(materialId);
  return material;
}

const ACTIVE: MaterialFilter = {
  state: 'active',
  type: undefined,
  isDue: undefined,
  labels: null,
  now: new Date(0),
};

/** What the page of a list goes on after, by its order. */
const SORT_KEYS = {
  newest: { kind: 'instant', of: ({ createTime }: Material) => createTime.getTime() },
  nextReview: {
    kind: 'instant or null',
    of: ({ nextReviewTime }: Material) => nextReviewTime?.getTime() ?? null,
  },
  lastReview: {
    kind: 'instant or null',
    of: ({ lastReviewedTime }: Material) => lastReviewedTime?.getTime() ?? null,
  },
  ease: { kind: 'count', of: ({ easeFactorHundredths }: Material) => easeFactorHundredths },
} as const satisfies Record<MaterialSort, unknown>;

type ListItem = Omit<PageRequest, 'after'>;
type AskedList = {
  filter: MaterialFilter;
  query: string;
  /** What the tokens of its pages are bound to. */
  bound: readonly unknown[];
  request: { pageToken: string };
};

function readLimits(pageSize: number, viewMessage: MaterialView) {
  return {
    maxRows: pageSize + 1,
    maxBytes: readMaterialView(viewMessage) === 'full' ? MAX_BYTES : NO_TEXTS,
  };
}

/** `rows` has up to one row more than the page, which ends before the first row whose texts were cut. */
function toListResponse<M extends ListedMaterial>(
  rows: readonly M[],
  { maxRows }: PageLimits,
  bound: readonly unknown[],
  positionOf: (material: M) => Position,
) {
  const cut = rows.findIndex(({ isCut }) => isCut);
  const pageSize = cut === -1 ? maxRows - 1 : Math.min(cut, maxRows - 1);
  const { page, nextPageToken } = toPage(rows, pageSize, bound, positionOf);
  return { materials: page.map(toMaterialMessage), nextPageToken };
}

/** Nothing without labels, so that page tokens from before labels existed stay valid. */
const boundBy = (labels: readonly string[] | null) => (labels === null ? [] : [labels]);
