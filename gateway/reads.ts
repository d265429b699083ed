// The reads that resolvers share: users, lists of materials, materials by id, pages of reviews and snoozes.
import type { User } from '../generated/accounts/v1/User.ts';
import type { UserKeyInput } from '../generated/accounts/v1/UserKey.ts';
import type { ListMaterialsRequestInput } from '../generated/scheduling/v1/ListMaterialsRequest.ts';
import { isUuid } from '../services/platform/text.ts';
import type { GatewayContext } from './context.ts';
import type { MaterialNode, ReviewNode, SnoozeNode } from './model.ts';
import type { Page, PageRequest } from './relay.ts';

/** RFC 5321; accounts takes none that is longer. */
const MAX_EMAIL_CHARACTERS = 320;
const MAX_IDS = 100;

/** null: there is no such user. What cannot be anyone's is not asked for. */
export async function findUser({ budget, shared }: GatewayContext, key: UserKeyInput): Promise<User | null> {
  const isPossible =
    key.userId !== undefined ? isUuid(key.userId) : (key.email ?? '').length <= MAX_EMAIL_CHARACTERS;
  return isPossible ? budget.read(shared.user, key, 'shared') : null;
}

/**
 * First pages of active materials, without long texts, are what a service reads together; all else goes by itself, so that nobody
 * waits for what another request searches or filters.
 */
export async function listMaterials(
  { budget, shared, clients, views }: GatewayContext,
  filter: ListMaterialsRequestInput & { userId: string; query: string; pageToken: string },
): Promise<Page<MaterialNode>> {
  const request = { ...filter, view: views.material };
  const { query, pageToken, state, type, due } = filter;
  const isPlain =
    query === '' && state === 'MATERIAL_STATE_ACTIVE' && type === undefined && due === undefined;
  const { materials, nextPageToken } =
    isPlain && pageToken === '' && views.lane !== 'large'
      ? await budget.read(shared.materials, request, 'shared')
      : await budget.read(clients.materials.listMaterials, request, views.lane);
  return { rows: toNodes(materials, request.userId), nextPageToken };
}

/** As `listMaterials`. */
export async function listDueMaterials(
  { budget, shared, clients, views }: GatewayContext,
  page: PageRequest & { userId: string },
): Promise<Page<MaterialNode>> {
  const request = { ...page, view: views.material };
  const { materials, nextPageToken } =
    page.pageToken === '' && views.lane !== 'large'
      ? await budget.read(shared.dueMaterials, request, 'shared')
      : await budget.read(clients.materials.listDueMaterials, request, views.lane);
  return { rows: toNodes(materials, request.userId), nextPageToken };
}

/** By id, without those that the user does not have. */
export async function findMaterials(
  { budget, clients, views }: GatewayContext,
  userId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, MaterialNode>> {
  const known = [...new Set(ids)].filter(isUuid);
  const parts = Array.from({ length: Math.ceil(known.length / MAX_IDS) }, (_, index) =>
    known.slice(index * MAX_IDS, (index + 1) * MAX_IDS),
  );
  const answers = await Promise.all(
    parts.map((materialIds) =>
      budget.read(
        clients.materials.batchGetMaterials,
        { userId, materialIds, view: views.material },
        views.lane,
      ),
    ),
  );
  const nodes = answers.flatMap(({ materials }) => toNodes(materials, userId));
  return new Map(nodes.map((node) => [node.message.materialId, node]));
}

/** `materialId` empty: of all materials. */
export async function listReviews(
  { budget, clients }: GatewayContext,
  userId: string,
  request: PageRequest & { materialId: string },
): Promise<Page<ReviewNode>> {
  const { reviews, nextPageToken } = await budget.read(clients.reviews.listReviews, { userId, ...request });
  return { rows: toNodes(reviews, userId), nextPageToken };
}

/** `materialId` empty: of all materials. */
export async function listSnoozes(
  { budget, clients }: GatewayContext,
  userId: string,
  request: PageRequest & { materialId: string },
): Promise<Page<SnoozeNode>> {
  const { snoozes, nextPageToken } = await budget.read(clients.snoozes.listSnoozes, { userId, ...request });
  return { rows: toNodes(snoozes, userId), nextPageToken };
}

export function toNodes<M>(messages: readonly M[], userId: string): { userId: string; message: M }[] {
  return messages.map((message) => ({ userId, message }));
}
