// Pages of reviews and snoozes, of a user or of one material.
import type { GatewayContext } from './context.ts';
import type { ReviewNode, SnoozeNode } from './model.ts';
import type { ReadPage } from './relay.ts';

/** `materialId` empty: of all materials. */
export function readReviews(
  { clients, call }: GatewayContext,
  userId: string,
  materialId: string,
): ReadPage<ReviewNode> {
  return async (page) => {
    const { reviews, nextPageToken } = await clients.reviews.listReviews(
      { userId, materialId, ...page },
      call,
    );
    return { rows: reviews.map((message) => ({ userId, message })), nextPageToken };
  };
}

/** The same of one material, whose first page is read together with those of other materials. */
export function readReviewsOfMaterial(
  context: GatewayContext,
  userId: string,
  materialId: string,
): ReadPage<ReviewNode> {
  const readLater = readReviews(context, userId, materialId);
  return async ({ pageSize, pageToken }) => {
    if (pageToken !== '') return readLater({ pageSize, pageToken });
    const { reviews, nextPageToken } = await context.loaders.reviews.load({ userId, materialId, pageSize });
    return { rows: reviews.map((message) => ({ userId, message })), nextPageToken };
  };
}

/** `materialId` empty: of all materials. */
export function readSnoozes(
  { clients, call }: GatewayContext,
  userId: string,
  materialId: string,
): ReadPage<SnoozeNode> {
  return async (page) => {
    const { snoozes, nextPageToken } = await clients.snoozes.listSnoozes(
      { userId, materialId, ...page },
      call,
    );
    return { rows: snoozes.map((message) => ({ userId, message })), nextPageToken };
  };
}
