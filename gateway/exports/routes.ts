// What is answered as a file, streamed while it is read: GraphQL answers in one piece, and at most 16 MiB.
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError, toServiceError } from '../../services/platform/errors.ts';
import { isUuid } from '../../services/platform/uuid.ts';
import type { GatewayContext } from '../context.ts';
import { required } from '../mapper.ts';
import { exportUser } from './user-export.ts';

type ExportDependencies = { contextOf(request: FastifyRequest): GatewayContext };

/** Register after authentication. Errors before the first byte are answered as GraphQL's are; later ones cut the answer off. */
export function registerExports(app: FastifyInstance, { contextOf }: ExportDependencies): void {
  app.get<{ Params: { userId: string } }>('/exports/users/:userId', async (request, reply) => {
    const context = contextOf(request);
    const { clients, call, identity } = context;
    const userId = request.params.userId.toLowerCase();
    const targets = isUuid(userId) ? { userId } : {};
    try {
      if (identity.role !== 'operator')
        throw new ServiceError('INSUFFICIENT_SCOPE', {
          message: 'The export of a user needs a token with the role operator.',
        });
      const user = required((await clients.users.getUser({ userId }, call)).user);
      context.audit('exportUser', 'ok', targets);
      await context.record('exportUser', targets);
      return send(reply, 'application/json', exportUser(clients, user, call));
    } catch (error) {
      context.audit('exportUser', toServiceError(error).reason, targets);
      throw error;
    }
  });
}

/** `parts`: what to send, read as fast as the client takes it. */
const send = (reply: FastifyReply, type: string, parts: AsyncIterable<string>) =>
  reply.type(`${type}; charset=utf-8`).send(Readable.from(parts));
