// What is answered as a file, streamed while it is read: GraphQL answers in one piece, and at most 16 MiB.
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TimelineKind } from '../../generated/gateway/resolvers.ts';
import { ServiceError, toServiceError } from '../../services/platform/errors.ts';
import { isUuid } from '../../services/platform/uuid.ts';
import type { GatewayContext } from '../context.ts';
import { required } from '../mapper.ts';
import { exportOf, requireForm } from './collection.ts';
import { exportTimeline, type FileFormat } from './timeline-export.ts';
import { exportUser } from './user-export.ts';

type ExportDependencies = { contextOf(request: FastifyRequest): GatewayContext };

/** Register after authentication. Errors before the first byte are answered as GraphQL's are; later ones cut the answer off. */
export function registerExports(app: FastifyInstance, { contextOf }: ExportDependencies): void {
  type Asked = { Params: { userId: string }; Querystring: { as?: unknown } };
  app.get<Asked>('/exports/users/:userId', async (request, reply) => {
    const context = contextOf(request);
    const { clients, call, identity } = context;
    const userId = request.params.userId.toLowerCase();
    const targets = isUuid(userId) ? { userId } : {};
    try {
      if (identity.role !== 'operator')
        throw new ServiceError('INSUFFICIENT_SCOPE', {
          message: 'The export of a user needs a token with the role operator.',
        });
      const { as } = request.query;
      const form = as === undefined ? undefined : requireForm(String(as));
      const user = required((await clients.users.getUser({ userId }, call)).user);
      context.audit('exportUser', 'ok', targets);
      await context.record('exportUser', targets);
      if (form !== undefined)
        return send(reply, form.contentType, form.write(exportOf(clients, user.userId, call)));
      return send(reply, 'application/json', exportUser(clients, user, call));
    } catch (error) {
      context.audit('exportUser', toServiceError(error).reason, targets);
      throw error;
    }
  });

  app.get<{ Params: { userId: string; format: string }; Querystring: { kind?: string | string[] } }>(
    '/exports/users/:userId/timeline.:format',
    async (request, reply) => {
      const { params, query } = request;
      const userId = params.userId.toLowerCase();
      const format = FORMATS.find((each) => each === params.format);
      const kinds = KINDS.filter((kind) => [query.kind ?? []].flat().includes(kind));
      if (format === undefined)
        throw new ServiceError('NOT_FOUND', { message: 'A timeline is exported as csv or jsonl.' });
      const { clients, call } = contextOf(request);
      await clients.users.getUser({ userId }, call);
      const lines = exportTimeline(() => contextOf(request), userId, { format, kinds });
      return send(reply, TYPES[format], lines);
    },
  );
}

const FORMATS = ['csv', 'jsonl'] as const;
const TYPES: Readonly<Record<FileFormat, string>> = { csv: 'text/csv', jsonl: 'application/jsonl' };
const KINDS: readonly TimelineKind[] = ['REVIEW', 'SNOOZE', 'KEY', 'REMINDER', 'OPERATOR'];

/** `parts`: what to send, read as fast as the client takes it. */
const send = (reply: FastifyReply, type: string, parts: AsyncIterable<string>) =>
  reply.type(`${type}; charset=utf-8`).send(Readable.from(parts));
