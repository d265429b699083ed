// Batches the single reads of a request, such as those for each row of a list, into the rpcs that answer many.
import DataLoader from 'dataloader';
import type { ApiKey } from '../generated/accounts/v1/ApiKey.ts';
import type { User } from '../generated/accounts/v1/User.ts';
import type { UserKeyInput } from '../generated/accounts/v1/UserKey.ts';
import type { Material } from '../generated/scheduling/v1/Material.ts';
import type { MaterialLapses } from '../generated/scheduling/v1/MaterialLapses.ts';
import type { MaterialRecall } from '../generated/scheduling/v1/MaterialRecall.ts';
import type { MaterialReviews } from '../generated/scheduling/v1/MaterialReviews.ts';
import type { Review } from '../generated/scheduling/v1/Review.ts';
import type { TestClock } from '../generated/scheduling/v1/TestClock.ts';
import { toTimestamp } from '../services/platform/instants.ts';
import { partsOf } from '../services/platform/parts.ts';
import { toError } from '../services/platform/thrown.ts';
import { isSandboxUser, isUuid } from '../services/platform/uuid.ts';
import type { Budget } from './budget.ts';
import type { Clients } from './clients.ts';
import type { Page } from './connections.ts';
import type { ApiKeyRequestsNode } from './nodes.ts';

export type Loaders = ReturnType<typeof createLoaders>;

/** The most that the services take in one call. */
export const MAX_KEYS = 100;
/** Scheduling writes the answer of a call in one piece, which other requests wait for. */
const MAX_REVIEWS = 1000;
/** The limit of accounts. */
export const MAX_EMAIL_CHARACTERS = 254;

type MaterialKey = { userId: string; materialId: string };
/** `atMs`: null for the user's now. */
type RecallKey = MaterialKey & { timeZone: string; atMs: number | null };
type FirstReviewsKey = MaterialKey & { pageSize: number; view: 'REVIEW_VIEW_BASIC' | 'REVIEW_VIEW_FULL' };
type FirstReviews = Pick<MaterialReviews, 'reviews' | 'nextPageToken'>;
type Lapses = Omit<MaterialLapses, 'materialId'>;

/** The loaders of one request; each caches what it has read. */
export function createLoaders(clients: Clients, budget: Budget) {
  const { users, apiKeys, materials, reviews, learners, stats } = clients;
  const materialsOf = (isWhole: boolean) =>
    ofMaterials<MaterialKey, Material | null>(null, async ({ userId }, materialIds) => {
      const request = { userId, materialIds };
      const answer = isWhole
        ? await budget.readLongTexts(materials.batchGetMaterials, { ...request, view: 'MATERIAL_VIEW_FULL' })
        : await budget.read(materials.batchGetMaterials, { ...request, view: 'MATERIAL_VIEW_BASIC' });
      return byMaterial(answer.materials);
    });
  const usersByKey = new DataLoader<UserKeyInput, User | null, string>(
    async (keys) => {
      const answer = await budget.read(users.batchGetUsers, { keys: [...keys] });
      return answer.users.map(({ user }) => user);
    },
    { maxBatchSize: MAX_KEYS, cacheKeyFn: ({ userId, email }) => userId ?? `email ${email}` },
  );
  const [basicMaterials, wholeMaterials] = [materialsOf(false), materialsOf(true)];
  const firstReviews = ofMaterials<FirstReviewsKey, FirstReviews>(
    { reviews: [], nextPageToken: '' },
    async ({ userId, pageSize, view }, materialIds) => {
      const request = { userId, materialIds, pageSize, view };
      return byMaterial((await budget.read(reviews.batchListReviews, request)).materials);
    },
    ({ pageSize }) => Math.min(MAX_KEYS, Math.floor(MAX_REVIEWS / (pageSize + 1))),
  );
  const recalls = ofMaterials<RecallKey, Partial<MaterialRecall>>(
    {},
    async ({ userId, timeZone, atMs }, materialIds) => {
      const atTime = atMs === null ? null : toTimestamp(new Date(atMs));
      const request = { userId, materialIds, timeZone, atTime };
      return byMaterial((await budget.read(stats.batchGetRecall, request)).recalls);
    },
  );
  const lapses = ofMaterials<MaterialKey, Lapses>(
    { lapses: 0, isLeech: false, leechReviewId: '' },
    async ({ userId }, materialIds) =>
      byMaterial((await budget.read(reviews.batchGetLapses, { userId, materialIds })).materials),
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
    recall: async (key: RecallKey) => (await recalls.load(key)).recall ?? null,
    /** How often a material was forgotten. */
    lapses: (key: MaterialKey) => lapses.load(key),
    /** The latest reviews of a material. */
    async firstReviews(key: FirstReviewsKey): Promise<Page<Review>> {
      const { reviews: rows, nextPageToken } = await firstReviews.load(key);
      return { rows, nextPageToken };
    },
  };
}

/** A value or the error, as DataLoader takes them. */
const settled = <V>(value: Promise<V>): Promise<V | Error> => value.catch(toError);

const byMaterial = <M extends { materialId: string }>(all: readonly M[]): ReadonlyMap<string, M> =>
  new Map(all.map((each) => [each.materialId, each]));

/**
 * A loader of one value for each material, or `none`. Keys that differ only in the material share a call, at most `maxOf` keys each. If a
 * call fails, only its own keys fail.
 */
function ofMaterials<K extends MaterialKey, V>(
  none: V,
  read: (key: K, materialIds: string[]) => Promise<ReadonlyMap<string, V>>,
  maxOf: (key: K) => number = () => MAX_KEYS,
) {
  const groupOf = ({ materialId: _, ...others }: K) => Object.values(others).join(' ');
  return new DataLoader<K, V, string>(
    async (keys) => {
      const found = new Map<K, V | Error>();
      const readPart = async (part: readonly K[]) => {
        const [first] = part;
        if (first === undefined) return;
        const materialIds = part.map(({ materialId }) => materialId);
        const values = await read(first, materialIds).catch(toError);
        for (const key of part)
          found.set(key, values instanceof Error ? values : (values.get(key.materialId) ?? none));
      };
      const parts = [...Map.groupBy(keys, groupOf).values()].flatMap((group) =>
        group[0] === undefined ? [] : partsOf(group, maxOf(group[0])),
      );
      await Promise.all(parts.map(readPart));
      return keys.map((key) => found.get(key) ?? none);
    },
    { cacheKeyFn: (key) => `${key.materialId} ${groupOf(key)}` },
  );
}
