// GET /reviews/due and POST /reviews/{materialId}.

import { callOf } from '../../call.ts';
import type { Clients } from '../../clients.ts';
import type { App } from '../../fastify.ts';
import { principalOf } from '../../hooks/authenticate.ts';
import { toReviewResponse } from '../../mapper.ts';
import { GZIP, sendMaterials } from '../../material-lists.ts';
import { LIST, REVIEW, REVIEW_RESPONSE } from '../../openapi/examples.ts';
import { errorResponses, success } from '../../openapi/responses.ts';
import {
  DEFAULT_LIMIT,
  LimitQuerySchema,
  MaterialParamsSchema,
  WriteHeadersSchema,
} from '../../parameters.ts';
import { MaterialsResponseSchema, ReviewRequestSchema, ReviewResponseSchema } from '../../schemas.ts';
import { markReplayed } from './responses.ts';

const READ = { scopes: ['reviews:read', 'materials:read'] } as const;
const WRITE = { scopes: ['reviews:write'], isWrite: true } as const;

export function registerReviews(app: App, { materials, reviews }: Clients): void {
  app.get(
    '/reviews/due',
    {
      config: READ,
      compress: GZIP,
      schema: {
        tags: ['Reviews'],
        operationId: 'listDueMaterials',
        summary: 'List materials that are due',
        description: 'Without an instant first, then the longest due. Scope reviews:read or materials:read.',
        querystring: LimitQuerySchema,
        response: { 200: success(MaterialsResponseSchema, LIST), ...errorResponses([400, 401, 403], READ) },
      },
    },
    async (request, reply) => {
      const { userId } = principalOf(request);
      const { limit = DEFAULT_LIMIT } = request.query;
      const call = callOf(request);
      return sendMaterials(reply, limit, (page) => materials.listDueMaterials({ userId, ...page }, call));
    },
  );

  app.post(
    '/reviews/:materialId',
    {
      config: WRITE,
      schema: {
        tags: ['Reviews'],
        operationId: 'submitReview',
        summary: 'Grade the recall of a material',
        description: 'Reschedules it by SM-2. Early reviews are allowed. Scope reviews:write.',
        params: MaterialParamsSchema,
        headers: WriteHeadersSchema,
        body: { ...ReviewRequestSchema, examples: [REVIEW] },
        response: {
          200: success(ReviewResponseSchema, REVIEW_RESPONSE, WRITE),
          ...errorResponses([400, 401, 403, 404, 429], WRITE),
        },
      },
    },
    async (request, reply) => {
      const { userId } = principalOf(request);
      const materialId = request.params.materialId.toLowerCase();
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
