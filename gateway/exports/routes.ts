// What is answered as a file, streamed while it is read: GraphQL answers in one piece, and at most 16 MiB.
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TimelineKind } from '../../generated/gateway/resolvers.ts';
import { invalidField, ServiceError, toServiceError } from '../../services/platform/errors.ts';
import { parseDateTime } from '../../services/platform/instants.ts';
import { isUuid } from '../../services/platform/uuid.ts';
import type { GatewayContext } from '../context.ts';
import { required } from '../mapper.ts';
import { KINDS } from '../resolvers/timeline.ts';
import { exportOf, writeMaterials } from './collection.ts';
import { exportAudit, exportTimeline, type FileFormat } from './event-exports.ts';
import { exportUser } from './user-export.ts';

/** Register after authentication. Errors before the first byte are answered as GraphQL's are; later ones cut the answer off. */
export function registerExports(
  app: FastifyInstance,
  contextOf: (request: FastifyRequest) => GatewayContext,
): void {
  type Asked = { Params: { userId: string }; Querystring: { as?: unknown } };
  app.get<Asked>('/exports/users/:userId', WITHOUT_HEAD, async (request, reply) => {
    const context = contextOf(request);
    const { clients, call, identity } = context;
    const userId = request.params.userId.toLowerCase();
    const targets = isUuid(userId) ? { userId } : {};
    const { as } = request.query;
    const action = as === undefined ? 'exportUser' : 'exportMaterials';
    try {
      if (identity.role !== 'operator')
        throw new ServiceError('INSUFFICIENT_SCOPE', {
          message: 'The export of a user needs a token with the role operator.',
        });
      const format = formatOf(as);
      if (as !== undefined && format === undefined)
        throw invalidField('as', `must be one of ${FORMATS.join(', ')}.`);
      const user = required((await clients.users.getUser({ userId }, call)).user);
      context.audit(action, 'ok', targets);
      await context.record(action, targets);
      if (format !== undefined)
        return send(reply, TYPES[format], writeMaterials(exportOf(clients, user.userId, call), format));
      return send(reply, 'application/json', exportUser(clients, user, call));
    } catch (error) {
      context.audit(action, toServiceError(error).reason, targets);
      throw error;
    }
  });

  app.get<{ Params: { userId: string; format: string }; Querystring: { kind?: string | string[] } }>(
    '/exports/users/:userId/timeline.:format',
    WITHOUT_HEAD,
    async (request, reply) => {
      const { params, query } = request;
      const userId = params.userId.toLowerCase();
      const format = requireFormat('A timeline', params.format);
      const kinds = [query.kind ?? []].flat().map(requireKind);
      const { clients, call } = contextOf(request);
      await clients.users.getUser({ userId }, call);
      const lines = exportTimeline(() => contextOf(request), userId, { format, kinds });
      return send(reply, TYPES[format], lines);
    },
  );

  app.get<{ Params: { format: string }; Querystring: Query }>(
    '/exports/audit.:format',
    WITHOUT_HEAD,
    async (request, reply) => {
      const { params, query } = request;
      const format = requireFormat('The audit', params.format);
      const filter = {
        actor: textOf(query, 'actor'),
        action: textOf(query, 'action'),
        since: timeOf(query, 'since'),
        until: timeOf(query, 'until'),
      };
      return send(
        reply,
        TYPES[format],
        exportAudit(() => contextOf(request), { format, filter }),
      );
    },
  );
}

/** For HEAD, Fastify would read a whole export, after its admission has ended. */
const WITHOUT_HEAD = { exposeHeadRoute: false };

type Query = Readonly<Record<string, string | string[] | undefined>>;

/** null where it is not given. @throws INVALID_REQUEST with the field where it is given twice. */
function textOf(query: Query, field: string): string | null {
  const text = query[field];
  if (Array.isArray(text)) throw invalidField(field, 'must be given once.');
  return text ?? null;
}

/** null where it is not given. @throws INVALID_REQUEST with the field. */
function timeOf(query: Query, field: string): Date | null {
  const text = textOf(query, field);
  if (text === null) return null;
  const time = parseDateTime(text);
  if (time === undefined)
    throw invalidField(field, 'must be a time with an offset, such as 2026-12-01T10:00:00Z.');
  return time;
}

function requireKind(name: string): TimelineKind {
  const kind = KINDS.find((each) => each === name);
  if (kind === undefined) throw invalidField('kind', `must be one of ${KINDS.join(', ')}.`);
  return kind;
}

function requireFormat(what: string, name: string): FileFormat {
  const format = formatOf(name);
  if (format !== undefined) return format;
  throw new ServiceError('NOT_FOUND', { message: `${what} is exported as csv or jsonl.` });
}

const formatOf = (name: unknown) => FORMATS.find((each) => each === name);

const FORMATS = ['jsonl', 'csv'] as const;
const TYPES: Readonly<Record<FileFormat, string>> = { csv: 'text/csv', jsonl: 'application/jsonl' };

/** `parts`: what to send, read as fast as the client takes it; an error of the first one is answered with its status. */
async function send(reply: FastifyReply, type: string, parts: AsyncGenerator<string>) {
  const first = await parts.next();
  const all = async function* () {
    if (!first.done) yield first.value;
    yield* parts;
  };
  return reply.type(`${type}; charset=utf-8`).send(Readable.from(all()));
}
