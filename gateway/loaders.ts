// Joins the reads of one request that ask for single things into the rpcs that answer many: what a list names, and what its rows
// hold, is read in one call for all rows.
import DataLoader from 'dataloader';
import type { ApiKey } from '../generated/accounts/v1/ApiKey.ts';
import type { User } from '../generated/accounts/v1/User.ts';
import type { UserKeyInput } from '../generated/accounts/v1/UserKey.ts';
import type { Material } from '../generated/scheduling/v1/Material.ts';
import type { MaterialLapses } from '../generated/scheduling/v1/MaterialLapses.ts';
import type { Review } from '../generated/scheduling/v1/Review.ts';
import type { TestClock } from '../generated/scheduling/v1/TestClock.ts';
import { partsOf } from '../services/platform/parts.ts';
import { toTimestamp } from '../services/platform/protobuf/timestamps.ts';
import { toError } from '../services/platform/thrown.ts';
import { isSandboxUser, isUuid } from '../services/platform/uuid.ts';
import type { Budget } from './budget.ts';
import type { Clients } from './clients.ts';
import type { Page } from './connections.ts';
import type { ApiKeyRequestsNode } from './nodes.ts';

export type Loaders = ReturnType<typeof createLoaders>;

/** The most that the services take in one call. */
const MAX_KEYS = 100;
/** Scheduling writes the answer of a call in one piece, which other requests wait for. */
const MAX_REVIEWS = 1000;
/** The limit of accounts. */
export const MAX_EMAIL_CHARACTERS = 254;

type MaterialKey = { userId: string; materialId: string };
type RecallKey = MaterialKey & { timeZone: string; atMs: number };
type FirstReviewsKey = MaterialKey & { pageSize: number };

/** Of one request: what it has read once, it has. */
export function createLoaders(clients: Clients, budget: Budget) {
  const { users, apiKeys, materials, reviews, learners, stats } = clients;
  const materialsOf = (isWhole: boolean) =>
    new DataLoader<MaterialKey, Material | null, string>(
      inGroups(
        ({ userId }) => userId,
        () => MAX_KEYS,
        async (keys) => {
          const materialIds = keys.map(({ materialId }) => materialId);
          const request = { userId: keys[0].userId, materialIds };
          const answer = isWhole
            ? await budget.readLongTexts(materials.batchGetMaterials, {
                ...request,
                view: 'MATERIAL_VIEW_FULL',
              })
            : await budget.read(materials.batchGetMaterials, { ...request, view: 'MATERIAL_VIEW_BASIC' });
          const found = new Map(answer.materials.map((each) => [each.materialId, each]));
          return materialIds.map((id) => found.get(id) ?? null);
        },
      ),
      { cacheKeyFn: ({ userId, materialId }) => `${userId} ${materialId}` },
    );
  const usersByKey = new DataLoader<UserKeyInput, User | null, string>(
    async (keys) => {
      const answer = await budget.read(users.batchGetUsers, { keys: [...keys] });
      return answer.users.map(({ user }) => user);
    },
    { maxBatchSize: MAX_KEYS, cacheKeyFn: ({ userId, email }) => userId ?? `${email}` },
  );
  const [basicMaterials, wholeMaterials] = [materialsOf(false), materialsOf(true)];
  const firstReviews = new DataLoader<FirstReviewsKey, Page<Review>, string>(
    inGroups(
      ({ userId, pageSize }) => `${userId} ${pageSize}`,
      ({ pageSize }) => Math.min(MAX_KEYS, Math.floor(MAX_REVIEWS / (pageSize + 1))),
      async (keys) => {
        const [{ userId, pageSize }] = keys;
        const materialIds = keys.map(({ materialId }) => materialId);
        const request = { userId, materialIds, pageSize, view: 'REVIEW_VIEW_FULL' } as const;
        const answer = await budget.read(reviews.batchListReviews, request);
        const found = new Map(answer.materials.map((each) => [each.materialId, each]));
        return materialIds.map((id) => {
          const { reviews: rows = [], nextPageToken = '' } = found.get(id) ?? {};
          return { rows, nextPageToken };
        });
      },
    ),
    { cacheKeyFn: ({ userId, materialId, pageSize }) => `${userId} ${materialId} ${pageSize}` },
  );
  const recalls = new DataLoader<RecallKey, number | null, string>(
    inGroups(
      ({ userId, atMs }) => `${userId} ${atMs}`,
      () => MAX_KEYS,
      async (keys) => {
        const [{ userId, timeZone, atMs }] = keys;
        const materialIds = keys.map(({ materialId }) => materialId);
        const request = { userId, materialIds, timeZone, atTime: toTimestamp(new Date(atMs)) };
        const answer = await budget.read(stats.batchGetRecall, request);
        const found = new Map(answer.recalls.map(({ materialId, recall }) => [materialId, recall]));
        return materialIds.map((id) => found.get(id) ?? null);
      },
    ),
    { cacheKeyFn: ({ userId, materialId, atMs }) => `${userId} ${materialId} ${atMs}` },
  );
  const lapses = new DataLoader<MaterialKey, MaterialLapses, string>(
    inGroups(
      ({ userId }) => userId,
      () => MAX_KEYS,
      async (keys) => {
        const materialIds = keys.map(({ materialId }) => materialId);
        const request = { userId: keys[0].userId, materialIds };
        return (await budget.read(reviews.batchGetLapses, request)).materials;
      },
    ),
    { cacheKeyFn: ({ userId, materialId }) => `${userId} ${materialId}` },
  );
  const apiKeysById = new DataLoader<string, ApiKey | null>(
    async (apiKeyIds) => {
      const answer = await budget.read(apiKeys.batchGetApiKeys, { apiKeyIds: [...apiKeyIds] });
      const found = new Map(answer.apiKeys.map((key) => [key.apiKeyId, key]));
      return apiKeyIds.map((id) => found.get(id) ?? null);
    },
    { maxBatchSize: MAX_KEYS },
  );
  const requestsByKey = new DataLoader<string, ApiKeyRequestsNode>(
    async (apiKeyIds) => {
      const answer = await budget.read(apiKeys.batchGetKeyRequests, { apiKeyIds: [...apiKeyIds] });
      const counts = Map.groupBy(answer.counts, ({ apiKeyId }) => apiKeyId);
      const refused = Map.groupBy(answer.refused, ({ apiKeyId }) => apiKeyId);
      return apiKeyIds.map((id) => ({ counts: counts.get(id) ?? [], refused: refused.get(id) ?? [] }));
    },
    { maxBatchSize: MAX_KEYS },
  );
  const testClocks = new DataLoader<string, TestClock | null>((userIds) =>
    Promise.all(
      userIds
        .map(async (userId) => (await budget.read(learners.getTestClock, { userId })).clock)
        .map(settled),
    ),
  );
  return {
    /** null for a user who is not sandbox. */
    testClock: async (userId: string) => (isSandboxUser(userId) ? testClocks.load(userId) : null),
    /** null where there is no such key. */
    apiKey: (apiKeyId: string) => apiKeysById.load(apiKeyId),
    /** The requests that came with a key. */
    keyRequests: (apiKeyId: string) => requestsByKey.load(apiKeyId),
    /** By id or e-mail address; null where there is no such user. Impossible keys need no call. */
    async user(key: UserKeyInput): Promise<User | null> {
      const isPossible =
        key.userId !== undefined ? isUuid(key.userId) : (key.email ?? '').length <= MAX_EMAIL_CHARACTERS;
      return isPossible ? usersByKey.load(key) : null;
    },
    /** Without long texts; null where the user has no such material. */
    material: async (key: MaterialKey) => (isUuid(key.materialId) ? basicMaterials.load(key) : null),
    /** With content and source URL. */
    wholeMaterial: (key: MaterialKey) => wholeMaterials.load(key),
    /** null before its first review. */
    recall: (key: RecallKey) => recalls.load(key),
    /** How often a material was forgotten. */
    lapses: (key: MaterialKey) => lapses.load(key),
    /** The latest reviews of a material. */
    firstReviews: (key: FirstReviewsKey) => firstReviews.load(key),
  };
}

/** A value or the error, as DataLoader takes them. */
const settled = <V>(value: Promise<V>): Promise<V | Error> => value.catch(toError);

/** Reads keys group by group, in parts of at most `maxOf` the group; a part that fails fails for its own keys. */
function inGroups<K extends object, V>(
  groupOf: (key: K) => string,
  maxOf: (key: K) => number,
  read: (keys: readonly [K, ...K[]]) => Promise<readonly V[]>,
) {
  return async (keys: readonly K[]): Promise<(V | Error)[]> => {
    const found = new Map<K, V | Error>();
    const readPart = async (part: readonly K[]) => {
      const [first, ...rest] = part;
      if (first === undefined) return;
      const values = await read([first, ...rest]).catch(toError);
      for (const [index, key] of part.entries())
        found.set(key, values instanceof Error ? values : (values[index] as V));
    };
    const groups = [...Map.groupBy(keys, groupOf).values()];
    const parts = groups.flatMap((group) => (group[0] === undefined ? [] : partsOf(group, maxOf(group[0]))));
    await Promise.all(parts.map(readPart));
    return keys.map((key) => found.get(key) as V | Error);
  };
}
