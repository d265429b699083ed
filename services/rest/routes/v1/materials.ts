// GET and POST /materials, GET /search.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasReason, invalidField, ServiceError } from '../../../platform/errors.ts';
import { callOf } from '../../call.ts';
import type { Clients } from '../../clients.ts';
import type { App } from '../../fastify.ts';
import { principalOf } from '../../hooks/authenticate.ts';
import { toMaterial, toTypeMessage } from '../../mapper.ts';
import { GZIP, sendMaterials } from '../../material-lists.ts';
import { CREATE, CREATED, LIST } from '../../openapi/examples.ts';
import { errorResponses, success } from '../../openapi/responses.ts';
import {
  DEFAULT_LIMIT,
  MaterialsQuerySchema,
  SearchQuerySchema,
  WriteHeadersSchema,
} from '../../parameters.ts';
import {
  CreateMaterialRequestSchema,
  MaterialResponseSchema,
  MaterialsResponseSchema,
} from '../../schemas.ts';
import { markReplayed } from './responses.ts';

const READ = { scopes: ['materials:read'] } as const;
const WRITE = { scopes: ['materials:write'], isWrite: true } as const;

/** Scheduling has the same bound. A refusal by it costs both services ten times as much as one here. */
const MAX_QUERY_BYTES = 1024;

export function registerMaterials(app: App, { materials }: Clients): void {
  const list = async (request: FastifyRequest, reply: FastifyReply, { q = '', limit = DEFAULT_LIMIT }) => {
    if (Buffer.byteLength(q) > MAX_QUERY_BYTES)
      throw invalidField('q', `must have at most ${MAX_QUERY_BYTES} bytes in UTF-8.`);
    const { userId } = principalOf(request);
    const call = callOf(request);
    return sendMaterials(reply, limit, (page) =>
      materials.listMaterials({ userId, query: q, ...page }, call),
    );
  };

  app.get(
    '/materials',
    {
      config: READ,
      compress: GZIP,
      schema: {
        tags: ['Materials'],
        operationId: 'listMaterials',
        summary: 'List active materials',
        description: 'Newest first; with q those that match it, title matches first. Scope materials:read.',
        querystring: MaterialsQuerySchema,
        response: { 200: success(MaterialsResponseSchema, LIST), ...errorResponses([400, 401, 403], READ) },
      },
    },
    (request, reply) => list(request, reply, request.query),
  );

  app.get(
    '/search',
    {
      config: READ,
      compress: GZIP,
      schema: {
        tags: ['Materials'],
        operationId: 'searchMaterials',
        summary: 'Search active materials',
        description: 'Title matches first, then the others, each newest first. Scope materials:read.',
        querystring: SearchQuerySchema,
        response: { 200: success(MaterialsResponseSchema, LIST), ...errorResponses([400, 401, 403], READ) },
      },
    },
    (request, reply) => list(request, reply, request.query),
  );

  app.post(
    '/materials',
    {
      config: WRITE,
      schema: {
        tags: ['Materials'],
        operationId: 'createMaterial',
        summary: 'Create a material',
        description: 'It is due at once. Scope materials:write.',
        headers: WriteHeadersSchema,
        body: { ...CreateMaterialRequestSchema, examples: [CREATE] },
        response: {
          201: success(MaterialResponseSchema, CREATED, WRITE),
          ...errorResponses([400, 401, 403, 429], WRITE),
        },
      },
    },
    async (request, reply) => {
      const { title, content, sourceUrl, type = 'simple' } = request.body;
      const create = materials.createMaterial(
        {
          userId: principalOf(request).userId,
          title,
          type: toTypeMessage(type),
          requestId: request.headers['idempotency-key'] ?? '',
          ...(content !== undefined && { content }),
          ...(sourceUrl !== undefined && { sourceUrl }),
        },
        callOf(request),
      );
      const created = await create.catch(refuseDeletedUser);
      markReplayed(reply, created);
      return reply.code(201).send({ material: toMaterial(created.material) });
    },
  );
}

/** NOT_FOUND on creation means that the user is being deleted, so the key counts as revoked. */
function refuseDeletedUser(error: unknown): never {
  throw hasReason(error, 'NOT_FOUND') ? new ServiceError('UNAUTHORIZED') : error;
}
