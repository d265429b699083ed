// Reads what all rows of a list will be asked for by one call, before the list is answered: its rows then find it there, and the
// number of calls does not grow with them. What a row does not find, it reads by itself.
import { type FieldNode, type GraphQLResolveInfo, getArgumentValues, isObjectType } from 'graphql';
import { toError } from '../services/platform/errors.ts';
import type { GatewayContext } from './context.ts';
import { fieldsBelow } from './lookahead.ts';
import type { JoinedReviews, MaterialNode, ReviewNode, ReviewsOfMaterial, SnoozeNode } from './model.ts';
import { findMaterials } from './reads.ts';
import { countOf } from './relay.ts';

type Asked = { context: GatewayContext; info: GraphQLResolveInfo };

/** The latest reviews of each of `materials`, as `nodes` asks for them: materials of one user, each once. */
export async function joinReviews(
  asked: Asked,
  nodes: readonly FieldNode[],
  materials: readonly MaterialNode[],
): Promise<void> {
  if (materials.length === 0) return;
  const sizes = new Set(
    fieldsBelow(asked.info, nodes, 'reviews').flatMap((node) => firstPageOf(asked, node)),
  );
  if (sizes.size === 0) return;
  const joined: JoinedReviews = new Map();
  for (const material of materials) material.joinedReviews = joined;
  const readSize = async (pageSize: number) => {
    joined.set(pageSize, await readReviews(asked.context, pageSize, materials).catch(toError));
  };
  await Promise.all([...sizes].map(readSize));
}

/** The size of the first page that is asked for; none where it is another page, or no right size. */
function firstPageOf({ info }: Asked, node: FieldNode): number[] {
  const type = info.schema.getType('Material');
  const field = isObjectType(type) ? type.getFields().reviews : undefined;
  if (field === undefined) return [];
  try {
    const { first, after } = getArgumentValues(field, node, info.variableValues);
    return (after ?? null) === null ? [countOf(typeof first === 'number' ? first : null)] : [];
  } catch {
    return [];
  }
}

async function readReviews(
  { budget, clients, shared, views }: GatewayContext,
  pageSize: number,
  materials: readonly MaterialNode[],
): Promise<ReadonlyMap<string, ReviewsOfMaterial>> {
  const found = new Map<string, ReviewsOfMaterial>();
  for (let start = 0; start < materials.length; start += MAX_MATERIALS) {
    const part = materials.slice(start, start + MAX_MATERIALS);
    const [{ userId } = { userId: '' }] = part;
    const materialIds = part.map(({ message }) => message.materialId);
    const request = { userId, materialIds, pageSize, view: views.review };
    // What a service reads together with that of others; more, or schedules as well, goes by itself.
    const isSmall = views.review === 'REVIEW_VIEW_BASIC' && part.length * (pageSize + 1) <= MAX_ROWS_TOGETHER;
    const answer = isSmall
      ? await budget.read(shared.reviews, request, 'shared')
      : await budget.read(clients.reviews.batchListReviews, request);
    for (const page of answer.materials) found.set(page.materialId, page);
  }
  return found;
}

const MAX_MATERIALS = 100;
const MAX_ROWS_TOGETHER = 1000;

/** The material of each of a user's `reviews`. */
export async function joinMaterials(
  asked: Asked,
  nodes: readonly FieldNode[],
  reviews: readonly ReviewNode[],
): Promise<void> {
  const below = fieldsBelow(asked.info, nodes, 'material');
  const [first] = reviews;
  if (below.length === 0 || first === undefined) return;
  const ids = reviews.map(({ message }) => message.materialId);
  const found = await findMaterials(asked.context, first.userId, ids).catch(toError);
  if (!(found instanceof Error)) await joinReviews(asked, below, [...found.values()]);
  for (const review of reviews)
    review.material = found instanceof Error ? found : (found.get(review.message.materialId) ?? null);
}

/** The materials of each of a user's `snoozes`. */
export async function joinSnoozedMaterials(
  asked: Asked,
  nodes: readonly FieldNode[],
  snoozes: readonly SnoozeNode[],
): Promise<void> {
  const below = fieldsBelow(asked.info, nodes, 'materials');
  const [first] = snoozes;
  if (below.length === 0 || first === undefined) return;
  const ids = snoozes.flatMap(({ message }) => message.materialIds);
  const found = await findMaterials(asked.context, first.userId, ids).catch(toError);
  if (!(found instanceof Error)) await joinReviews(asked, below, [...found.values()]);
  for (const snooze of snoozes)
    snooze.materials =
      found instanceof Error ? found : snooze.message.materialIds.flatMap((id) => found.get(id) ?? []);
}
