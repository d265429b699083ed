// The HTTP end for the links that people's programs follow: a calendar, and the end of reminders by e-mail. Does not listen.
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { atMost } from '../../platform/concurrency.ts';
import { toServiceError } from '../../platform/errors.ts';
import { createAnonymousPacer } from '../../platform/http/anonymous-callers.ts';
import { boundBodies } from '../../platform/http/body.ts';
import { setCommonHeaders } from '../../platform/http/common-headers.ts';
import { boundConnections } from '../../platform/http/connections.ts';
import { matchesTag } from '../../platform/http/content/entity-tag.ts';
import { fastifyOptions } from '../../platform/http/malformed.ts';
import { createRequestLog, type RequestLog } from '../../platform/http/request-log.ts';
import { registerShutdown } from '../../platform/http/shutdown.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import { observeHttp } from '../../platform/observability/observe.ts';
import { createTelemetry, type Telemetry } from '../../platform/observability/telemetry.ts';
import type { CalendarFeed } from '../channels/calendar.ts';
import { createAddressLimit } from './address-limit.ts';
import { ASK_PAGE, BARE_POLICY, DONE_PAGE, PAGE_POLICY } from './pages.ts';

export type HttpDependencies = {
  /** The calendar of the user with this secret; undefined without one. */
  findCalendar(secret: string): Promise<CalendarFeed | undefined>;
  /** Whether a mail holds this token; changes nothing. */
  isUnsubscribeToken(token: string): Promise<boolean>;
  /** @returns whether there is a user with this token, however often it is asked. */
  switchEmailOff(token: string): Promise<boolean>;
  logger: Logger;
  /** A monotonic clock in milliseconds. */
  nowMs: () => number;
  /** Default: 0. */
  drainMs?: number | undefined;
  telemetry?: Telemetry;
};

/** Look-ups at once; the others wait their turn. */
const AT_ONCE = 16;
const RETRY_AFTER_SECONDS = 5;
const MAX_HEAD_BYTES = 8 * 1024;
const MAX_BODY_BYTES = 4 * 1024;
const TEXT = 'text/plain; charset=utf-8';
const HTML = 'text/html; charset=utf-8';

/** Whatever is unknown, malformed or elsewhere is 404 in the same words. */
export function buildHttpApp(dependencies: HttpDependencies): FastifyInstance {
  const { logger, nowMs, telemetry = createTelemetry() } = dependencies;
  const limit = createAddressLimit(nowMs);
  const limitLookups = atMost(AT_ONCE);
  const log = createRequestLog(logger, 'reminders', () => ({}));
  const app = createFastify(log, nowMs);
  boundConnections(app);
  observeHttp(app, 'reminders', telemetry.metrics);
  boundBodies(app);
  registerShutdown(app, dependencies.drainMs);
  // What a mail program posts says nothing that the link does not.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null));

  app.addHook('onRequest', async (request, reply) => {
    beginAnswer(log, request, reply);
    // Fastify refuses a malformed one before it parses.
    delete request.headers['content-type'];
    const seconds = limit.take(request.ip);
    if (seconds !== undefined)
      return sendText(reply.header('retry-after', seconds), 429, 'Too many requests.');
  });
  app.setNotFoundHandler((_request, reply) => sendText(reply, 404, 'Not found.'));
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (error.statusCode !== undefined && error.statusCode < 500) return sendText(reply, 400, 'Bad request.');
    const { reason, field } = toServiceError(error);
    if (field === 'body') return sendText(reply, 400, 'Bad request.');
    if (reason === 'UNAVAILABLE')
      return sendText(reply.header('retry-after', RETRY_AFTER_SECONDS), 503, 'Try again later.');
    logger.error({ err: error, tier: 'reminders', requestId: request.id }, 'request failed');
    return sendText(reply, 500, 'Something went wrong.');
  });

  app.get<{ Params: { file: string } }>('/calendar/:file', async (request, reply) => {
    const [, secret] = /^(.+)\.ics$/.exec(request.params.file) ?? [];
    const feed = secret && (await limitLookups(() => dependencies.findCalendar(secret)));
    if (!feed) return sendText(reply, 404, 'Not found.');
    reply.headers({ etag: feed.etag, 'cache-control': 'private, max-age=3600' });
    if (matchesTag(request.headers['if-none-match'], feed.etag)) return reply.code(304).send();
    return reply.type('text/calendar; charset=utf-8').send(feed.text);
  });
  app.get<{ Params: { token: string } }>('/unsubscribe/:token', async ({ params: { token } }, reply) => {
    const isKnown = await limitLookups(() => dependencies.isUnsubscribeToken(token));
    return isKnown ? sendPage(reply, ASK_PAGE) : sendText(reply, 404, 'Not found.');
  });
  app.post<{ Params: { token: string } }>('/unsubscribe/:token', async ({ params: { token } }, reply) => {
    const isKnown = await limitLookups(() => dependencies.switchEmailOff(token));
    return isKnown ? sendPage(reply, DONE_PAGE) : sendText(reply, 404, 'Not found.');
  });
  return app;
}

function createFastify(log: RequestLog, nowMs: () => number): FastifyInstance {
  const anonymousPacer = createAnonymousPacer(nowMs);
  const toJson = () => '{"error":"bad_request"}';
  const sendNotFound = (reply: FastifyReply) => sendText(reply, 404, 'Not found.');
  const common = fastifyOptions({ toJson, log, anonymousPacer }, beginAnswer, sendNotFound);
  return Fastify({
    ...common,
    bodyLimit: MAX_BODY_BYTES,
    // A proxy in front stands on this machine or in a private network, and says for whom it asks.
    trustProxy: ['loopback', 'linklocal', 'uniquelocal'],
    http: { ...common.http, maxHeaderSize: MAX_HEAD_BYTES },
  });
}

/** The log has the pattern of the route, never the path, which holds a secret. */
function beginAnswer(log: RequestLog, request: FastifyRequest, reply: FastifyReply): void {
  setCommonHeaders(request, reply);
  reply.headers({ 'cache-control': 'no-store', 'content-security-policy': BARE_POLICY });
  log.begin(request, reply);
}

const sendText = (reply: FastifyReply, status: number, text: string) =>
  reply.code(status).type(TEXT).send(`${text}\n`);

const sendPage = (reply: FastifyReply, page: string) =>
  reply.header('content-security-policy', PAGE_POLICY).type(HTML).send(page);
