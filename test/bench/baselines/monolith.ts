// What the baselines share: one Fastify process over the same tables, with the same checks in the same order and the same
// schemas as the service. How keys are looked up and statements are run is what A and A+ differ in.
import Fastify, { type FastifyRequest } from 'fastify';
import { ERROR_CATALOGUE, ServiceError } from '../../../services/platform/errors.ts';
import {
  FORMATS,
  LimitQuerySchema,
  MaterialParamsSchema,
  MaterialsQuerySchema,
  MaterialsResponseSchema,
  parseQuery,
  ReviewRequestSchema,
  ReviewResponseSchema,
  type Scope,
  WriteHeadersSchema,
} from '../../../services/rest/schemas.ts';
import { createRedisLog } from '../../../services/rest/write-limit/redis.ts';
import type { Quality } from '../../../services/scheduling/reviews/sm2.ts';
import { type MaterialJson, UUID } from './rows.ts';

export type Principal = { userId: string; apiKeyId: string; scopes: readonly string[] };
export type ReviewJson = {
  material: MaterialJson;
  review: { quality: number; reviewedAt: Date; previousDueAt: Date | null };
};

/** The part that each baseline does in its own way; undefined is "no such". */
export type Store = {
  findKey(key: string): Promise<Principal | undefined>;
  listDue(userId: string, limit: number): Promise<MaterialJson[]>;
  listNewest(userId: string, limit: number): Promise<MaterialJson[]>;
  review(userId: string, materialId: string, quality: Quality): Promise<ReviewJson | undefined>;
};

const DEFAULT_LIMIT = 20;
const WINDOW_MS = 60_000;

export async function startMonolith(store: Store): Promise<void> {
  const limit = Number(process.env.WRITE_LIMIT_PER_MINUTE);
  const limiter = createRedisLog({ redisUrl: process.env.REDIS_URL ?? '', limit, windowMs: WINDOW_MS });
  const app = Fastify({
    logger: false,
    bodyLimit: 256 * 1024,
    routerOptions: { querystringParser: parseQuery },
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false },
      onCreate: (ajv) => {
        for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, validate);
      },
    },
  });
  app.setErrorHandler((error: Error & { validation?: unknown }, _request, reply) => {
    const known = error.validation === undefined ? error : new ServiceError('INVALID_REQUEST');
    const reason = known instanceof ServiceError ? known.reason : 'INTERNAL_ERROR';
    const { httpStatus, text } = ERROR_CATALOGUE[reason];
    return reply.code(httpStatus).send({ error: { code: reason.toLowerCase(), message: text } });
  });

  const principals = new WeakMap<FastifyRequest, Principal>();
  const principalOf = (request: FastifyRequest): Principal => {
    const principal = principals.get(request);
    if (principal === undefined) throw new ServiceError('UNAUTHORIZED');
    return principal;
  };
  const requireScope =
    (...scopes: Scope[]) =>
    async (request: FastifyRequest) => {
      const [, key = ''] = /^bearer +(.*)$/i.exec(request.headers.authorization ?? '') ?? [];
      const principal = await store.findKey(key);
      if (principal === undefined) throw new ServiceError('UNAUTHORIZED');
      if (!scopes.some((scope) => principal.scopes.includes(scope)))
        throw new ServiceError('INSUFFICIENT_SCOPE', { requiredScopes: scopes });
      principals.set(request, principal);
    };

  app.get<{ Querystring: { limit?: number } }>(
    '/v1/reviews/due',
    {
      onRequest: requireScope('reviews:read', 'materials:read'),
      schema: { querystring: LimitQuerySchema, response: { 200: MaterialsResponseSchema } },
    },
    async (request) => ({
      materials: await store.listDue(principalOf(request).userId, request.query.limit ?? DEFAULT_LIMIT),
    }),
  );

  app.get<{ Querystring: { limit?: number } }>(
    '/v1/materials',
    {
      onRequest: requireScope('materials:read'),
      schema: { querystring: MaterialsQuerySchema, response: { 200: MaterialsResponseSchema } },
    },
    async (request) => ({
      materials: await store.listNewest(principalOf(request).userId, request.query.limit ?? DEFAULT_LIMIT),
    }),
  );

  app.post<{ Params: { materialId: string }; Body: { quality: Quality } }>(
    '/v1/reviews/:materialId',
    {
      onRequest: [
        requireScope('reviews:write'),
        async (request, reply) => {
          const { userId, apiKeyId } = principalOf(request);
          const { allowed, remaining, untilReset } = await limiter.take(`${userId}:${apiKeyId}`);
          const resetSeconds = Math.ceil(untilReset / 1000);
          reply.header('ratelimit-policy', `"write";q=${limit};w=${WINDOW_MS / 1000}`);
          reply.header('ratelimit', `"write";r=${remaining};t=${resetSeconds}`);
          if (!allowed) throw new ServiceError('RATE_LIMITED', { retryAfterSeconds: resetSeconds });
        },
      ],
      schema: {
        params: MaterialParamsSchema,
        headers: WriteHeadersSchema,
        body: ReviewRequestSchema,
        response: { 200: ReviewResponseSchema },
      },
    },
    async (request) => {
      const { materialId } = request.params;
      if (!UUID.test(materialId)) throw new ServiceError('NOT_FOUND');
      const reviewed = await store.review(principalOf(request).userId, materialId, request.body.quality);
      if (reviewed === undefined) throw new ServiceError('NOT_FOUND');
      return reviewed;
    },
  );

  process.on('SIGTERM', () => process.exit(0));
  await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
}
