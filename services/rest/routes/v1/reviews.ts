// GET /reviews/due and POST /reviews/{materialId}.

import { callOf } from '../../call.ts';
import type { Clients } from '../../clients.ts';
import type { App } from '../../fastify.ts';
import { principalOf } from '../../hooks/authenticate.ts';
import { toReviewResponse } from '../../mapper.ts';
import type { MaterialLists } from '../../material-lists.ts';
import {
  LimitQuerySchema,
  MaterialParamsSchema,
  MaterialsResponseSchema,
  ReviewRequestSchema,
  ReviewResponseSchema,
  WriteHeadersSchema,
} from '../../schemas.ts';
import { markReplayed } from './replayed.ts';
import { errorResponses, goneSignal, sendJson } from './responses.ts';

const DEFAULT_LIMIT = 20;

export function registerReviews(app: App, { reviews }: Clients, lists: MaterialLists): void {
  app.get(
    '/reviews/due',
    {
      config: { scopes: ['reviews:read', 'materials:read'] },
      schema: {
        operationId: 'listDueMaterials',
        summary: 'List materials that are due',
        description: 'Without an instant first, then the longest due. Scope reviews:read or materials:read.',
        querystring: LimitQuerySchema,
        response: { 200: MaterialsResponseSchema, ...errorResponses(400, 401, 403) },
      },
    },
    async (request, reply) => {
      const { userId } = principalOf(request);
      const { limit = DEFAULT_LIMIT } = request.query;
      const asked = { userId, pageSize: limit };
      return sendJson(reply, await lists.listDueMaterials(asked, callOf(request), () => goneSignal(reply)));
    },
  );

  app.post(
    '/reviews/:materialId',
    {
      config: { scopes: ['reviews:write'], isWrite: true },
      schema: {
        operationId: 'submitReview',
        summary: 'Grade the recall of a material',
        description: 'Reschedules it by SM-2. Early reviews are allowed. Scope reviews:write.',
        params: MaterialParamsSchema,
        headers: WriteHeadersSchema,
        body: ReviewRequestSchema,
        response: { 200: ReviewResponseSchema, ...errorResponses(400, 401, 403, 404, 429) },
      },
    },
    async (request, reply) => {
      const { userId } = principalOf(request);
      const { materialId } = request.params;
      const { quality } = request.body;
      const reviewed = await reviews.submitReview(
        { userId, materialId, quality, requestId: request.headers['idempotency-key'] ?? '' },
        callOf(request),
      );
      markReplayed(reply, reviewed);
      return toReviewResponse(reviewed);
    },
  );
}
