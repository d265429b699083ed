// Reads shared by resolvers: users, material lists, materials by ID, pages of reviews and snoozes.
import type { User } from '../../generated/accounts/v1/User.ts';
import type { UserKeyInput } from '../../generated/accounts/v1/UserKey.ts';
import type { ListMaterialsRequestInput } from '../../generated/scheduling/v1/ListMaterialsRequest.ts';
import { hasReason } from '../../services/platform/errors.ts';
import { partsOf } from '../../services/platform/parts.ts';
import { isUuid } from '../../services/platform/uuid.ts';
import type { GatewayContext } from '../graphql/context.ts';
import type { MaterialNode, ReviewNode, SnoozeNode } from '../graphql/model.ts';
import type { Page, PageRequest } from '../graphql/relay.ts';

/** The limit of accounts. */
export const MAX_EMAIL_CHARACTERS = 254;
const MAX_IDS = 100;

/** null if there is no such user. Malformed IDs and addresses need no call. */
export async function findUser({ loaders }: GatewayContext, key: UserKeyInput): Promise<User | null> {
  const isPossible =
    key.userId !== undefined ? isUuid(key.userId) : (key.email ?? '').length <= MAX_EMAIL_CHARACTERS;
  return isPossible ? loaders.users.load(key) : null;
}

/** As `findUser`. While accounts does not answer, a user whose id can be used and whose account fields throw that error. */
export function findUserOrRest(context: GatewayContext, userId: string): Promise<User | null> {
  return findUser(context, { userId }).catch((error: unknown) => {
    if (!hasReason(error, 'UNAVAILABLE')) throw error;
    const get = () => {
      throw error;
    };
    const account = ACCOUNT_FIELDS.map((field) => [field, { get }] as const);
    // The fields that are missing here are defined with their getters.
    return Object.defineProperties({ userId } as User, Object.fromEntries(account));
  });
}

const ACCOUNT_FIELDS: readonly (keyof User)[] = [
  'email',
  'firstName',
  'lastName',
  'plan',
  'timeZone',
  'createTime',
  'updateTime',
];

/** The users of rows, in one call; omits those who do not exist. */
export async function usersById(
  { budget, clients }: GatewayContext,
  rows: readonly { userId: string }[],
): Promise<ReadonlyMap<string, User>> {
  if (rows.length === 0) return new Map();
  const keys = [...new Set(rows.map(({ userId }) => userId))].map((userId) => ({ userId }));
  const { users } = await budget.read(clients.users.batchGetUsers, { keys });
  return new Map(users.flatMap(({ user }) => (user ? [[user.userId, user]] : [])));
}

export async function listMaterials(
  { budget, clients, views }: GatewayContext,
  filter: ListMaterialsRequestInput & { userId: string; query: string; pageToken: string },
): Promise<Page<MaterialNode>> {
  const request = { ...filter, view: views.material };
  const { materials, nextPageToken } = await budget.read(clients.materials.listMaterials, request);
  return { rows: toNodes(materials, request.userId), nextPageToken };
}

export async function listDueMaterials(
  { budget, clients, views }: GatewayContext,
  page: PageRequest & { userId: string },
): Promise<Page<MaterialNode>> {
  const request = { ...page, view: views.material };
  const { materials, nextPageToken } = await budget.read(clients.materials.listDueMaterials, request);
  return { rows: toNodes(materials, request.userId), nextPageToken };
}

/** Materials by ID; omits those that the user does not have. */
export async function findMaterials(
  { budget, clients, views }: GatewayContext,
  userId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, MaterialNode>> {
  const known = [...new Set(ids)].filter(isUuid);
  const answers = await readInLane({ budget, views }, () =>
    Promise.all(
      partsOf(known, MAX_IDS).map((materialIds) =>
        budget.read(clients.materials.batchGetMaterials, { userId, materialIds, view: views.material }),
      ),
    ),
  );
  const nodes = answers.flatMap(({ materials }) => toNodes(materials, userId));
  return new Map(nodes.map((node) => [node.message.materialId, node]));
}

/** Runs `read`; if it reads long texts, in the caller's lane for them, where one runs at a time. */
export function readInLane<T>(
  { budget, views }: Pick<GatewayContext, 'budget' | 'views'>,
  read: () => Promise<T>,
): Promise<T> {
  return views.hasLongTexts ? budget.readLongTexts(read) : read();
}

type OfMaterial = PageRequest & { materialId?: string | null | undefined };

/** Without `materialId` of all materials; of a material that does not exist, none. */
export function listReviews(
  { budget, clients }: GatewayContext,
  userId: string,
  request: OfMaterial & { date?: string; timeZone?: string },
): Promise<Page<ReviewNode>> {
  return noneOfUnknown(request, async (materialId) => {
    const asked = { userId, ...request, materialId };
    const { reviews, nextPageToken } = await budget.read(clients.reviews.listReviews, asked);
    return { rows: toNodes(reviews, userId), nextPageToken };
  });
}

/** As `listReviews`. */
export function listSnoozes(
  { budget, clients }: GatewayContext,
  userId: string,
  request: OfMaterial,
): Promise<Page<SnoozeNode>> {
  return noneOfUnknown(request, async (materialId) => {
    const asked = { userId, ...request, materialId };
    const { snoozes, nextPageToken } = await budget.read(clients.snoozes.listSnoozes, asked);
    return { rows: toNodes(snoozes, userId), nextPageToken };
  });
}

async function noneOfUnknown<T>(
  { materialId }: OfMaterial,
  read: (materialId: string) => Promise<Page<T>>,
): Promise<Page<T>> {
  const none = { rows: [], nextPageToken: '' };
  // Scheduling takes an empty one for all.
  if (materialId === '') return none;
  return read(materialId ?? '').catch((error: unknown) => {
    if (hasReason(error, 'NOT_FOUND')) return none;
    throw error;
  });
}

function toNodes<M>(messages: readonly M[], userId: string): { userId: string; message: M }[] {
  return messages.map((message) => ({ userId, message }));
}
