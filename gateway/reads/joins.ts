// Prefetches the nested data of all rows of a list in one call, which avoids N+1 calls. A row whose data is missing reads it
// itself.
import { type FieldNode, type GraphQLResolveInfo, getArgumentValues, isObjectType } from 'graphql';
import type { ReviewView } from '../../generated/scheduling/v1/ReviewView.ts';
import { hasReason } from '../../services/platform/errors.ts';
import { partsOf } from '../../services/platform/parts.ts';
import { toError } from '../../services/platform/thrown.ts';
import type { GatewayContext } from '../graphql/context.ts';
import type {
  JoinedReviews,
  MaterialNode,
  ReviewNode,
  ReviewsOfMaterial,
  SnoozeNode,
  TimelineEventNode,
} from '../graphql/model.ts';
import { countOf } from '../graphql/relay.ts';
import { fieldsBelow, namesBelow } from './lookahead.ts';
import { findMaterials } from './reads.ts';

type Asked = { context: GatewayContext; info: GraphQLResolveInfo };

/** The latest reviews of `materials`, as requested in `nodes`; distinct materials of one user. */
export async function joinReviews(
  asked: Asked,
  nodes: readonly FieldNode[],
  materials: readonly MaterialNode[],
): Promise<void> {
  if (materials.length === 0) return;
  const below = fieldsBelow(asked.info, nodes, 'reviews');
  const sizes = new Set(below.flatMap((node) => firstPageOf(asked, node)));
  if (sizes.size === 0) return;
  const view = isOfGrades(asked, below) ? 'REVIEW_VIEW_GRADE' : asked.context.views.review;
  const joined: JoinedReviews = new Map();
  for (const material of materials) material.joinedReviews = joined;
  const readSize = async (pageSize: number) => {
    joined.set(pageSize, await readReviews(asked.context, { pageSize, view }, materials).catch(toError));
  };
  await Promise.all([...sizes].map(readSize));
}

/** The requested size of a first page; none for a later page or an invalid size. */
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

/** Whether lists of reviews are read for what was graded when, and for nothing else. */
function isOfGrades({ info }: Asked, lists: readonly FieldNode[]): boolean {
  const rows = fieldsBelow(info, lists, 'nodes');
  const requested = [...namesBelow(info, lists), ...namesBelow(info, rows)];
  return requested.every((name) => FIELDS_OF_GRADES.has(name));
}

const FIELDS_OF_GRADES = new Set(['nodes', 'quality', 'reviewedAt', '__typename']);

async function readReviews(
  { budget, clients }: GatewayContext,
  { pageSize, view }: { pageSize: number; view: ReviewView },
  materials: readonly MaterialNode[],
): Promise<ReadonlyMap<string, ReviewsOfMaterial>> {
  const found = new Map<string, ReviewsOfMaterial>();
  const materialsAtOnce = Math.min(MAX_MATERIALS, Math.floor(MAX_ROWS_OF_CALL / (pageSize + 1)));
  for (const part of partsOf(materials, materialsAtOnce)) {
    const [{ userId } = { userId: '' }] = part;
    const materialIds = part.map(({ message }) => message.materialId);
    const request = { userId, materialIds, pageSize, view };
    const answer = await budget.read(clients.reviews.batchListReviews, request);
    for (const page of answer.materials) found.set(page.materialId, page);
  }
  return found;
}

const MAX_MATERIALS = 100;
/** Scheduling writes the response of a call in one piece, which other requests wait for. */
const MAX_ROWS_OF_CALL = 1000;

/** The material of each of a user's `reviews`. */
export async function joinMaterials(
  asked: Asked,
  nodes: readonly FieldNode[],
  reviews: readonly ReviewNode[],
): Promise<void> {
  const below = fieldsBelow(asked.info, nodes, 'material');
  const found = await findBelow(asked, below, reviews, ({ message }) => [message.materialId]);
  if (found === undefined) return;
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
  const found = await findBelow(asked, below, snoozes, ({ message }) => message.materialIds);
  if (found === undefined) return;
  for (const snooze of snoozes)
    snooze.materials =
      found instanceof Error ? found : snooze.message.materialIds.flatMap((id) => found.get(id) ?? []);
}

/** The material of each of a user's `events`; null for all while scheduling does not answer. */
export async function joinEventMaterials(
  asked: Asked,
  nodes: readonly FieldNode[],
  events: readonly TimelineEventNode[],
): Promise<void> {
  const below = fieldsBelow(asked.info, nodes, 'material');
  const about = events.filter(({ materialId }) => materialId !== undefined);
  const found = await findBelow(asked, below, about, ({ materialId = '' }) => [materialId]);
  if (found === undefined) return;
  const isAway = hasReason(found, 'UNAVAILABLE');
  if (found instanceof Error && !isAway) throw found;
  for (const event of about)
    event.material = found instanceof Error ? null : (found.get(event.materialId ?? '') ?? null);
}

/** The materials that rows of one user name, with what `below` asks for of them; undefined where it asks for none. */
async function findBelow<N extends { userId: string }>(
  asked: Asked,
  below: readonly FieldNode[],
  rows: readonly N[],
  idsOf: (row: N) => readonly string[],
): Promise<ReadonlyMap<string, MaterialNode> | Error | undefined> {
  const [first] = rows;
  if (below.length === 0 || first === undefined) return undefined;
  const found = await findMaterials(asked.context, first.userId, rows.flatMap(idsOf)).catch(toError);
  if (!(found instanceof Error)) await joinReviews(asked, below, [...found.values()]);
  return found;
}
