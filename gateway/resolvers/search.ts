// Finds users, materials and keys by what support staff have at hand: an ID, the beginning of a key or of an e-mail address.
import { hasReason } from '../../services/platform/errors.ts';
import { isUuid } from '../../services/platform/uuid.ts';
import type { GatewayContext } from '../graphql/context.ts';
import type { ApiKeyNode, MaterialNode, SearchHitNode } from '../graphql/model.ts';
import { findMaterials, MAX_EMAIL_CHARACTERS, usersById } from '../reads/reads.ts';

const MAX_HITS = 10;
const KEY = /^rmk_live_/;
/** What accounts keeps of a key. The rest of a whole key goes no further. */
const PREFIX_CHARACTERS = 17;

type Found = { userId: string; apiKey?: ApiKeyNode; material?: MaterialNode };

/** At most ten hits; none for a text that nothing can have. */
export async function search(context: GatewayContext, text: string): Promise<SearchHitNode[]> {
  const { budget, clients } = context;
  const asked = text.trim();
  if (isUuid(asked.toLowerCase())) return withUsers(context, await findById(context, asked.toLowerCase()));
  if (KEY.test(asked)) {
    const keyPrefix = asked.slice(0, PREFIX_CHARACTERS);
    if (!/^rmk_live_[0-9A-Za-z]*$/.test(keyPrefix)) return [];
    const { apiKeys } = await budget.read(clients.apiKeys.findApiKeys, { keyPrefix, pageSize: MAX_HITS });
    return withUsers(context, apiKeys.map(ofKey));
  }
  if (asked === '' || asked.length > MAX_EMAIL_CHARACTERS) return [];
  const request = { emailPrefix: asked, pageSize: MAX_HITS };
  const { users } = await budget.read(clients.users.searchUsers, request);
  return users.map((user) => ({ user }));
}

const ofKey = (apiKey: ApiKeyNode): Found => ({ userId: apiKey.userId, apiKey });

/** Whatever has this ID, of each kind. */
async function findById(context: GatewayContext, id: string): Promise<Found[]> {
  const { budget, clients } = context;
  const [{ apiKeys }, owner] = await Promise.all([
    budget.read(clients.apiKeys.findApiKeys, { apiKeyId: id }),
    budget.read(clients.materials.findMaterialOwner, { materialId: id }).catch(nullIfNotFound),
  ]);
  const material = owner && (await findMaterials(context, owner.userId, [id])).get(id);
  return [
    { userId: id },
    ...apiKeys.map(ofKey),
    ...(material ? [{ userId: material.userId, material }] : []),
  ];
}

/** Drops what belongs to a user who does not exist. */
async function withUsers(context: GatewayContext, found: readonly Found[]): Promise<SearchHitNode[]> {
  const users = await usersById(context, found);
  return found.flatMap(({ userId, ...hit }) => {
    const user = users.get(userId);
    return user === undefined ? [] : [{ user, ...hit }];
  });
}

function nullIfNotFound(error: unknown): null {
  if (hasReason(error, 'NOT_FOUND')) return null;
  throw error;
}
