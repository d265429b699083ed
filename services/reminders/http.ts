// The HTTP routes for links that mail and calendar programs follow: unsubscribing from e-mail, and the calendar feed.
import { hash } from 'node:crypto';
import rateLimit from '@fastify/rate-limit';
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { toServiceError } from '../platform/errors.ts';
import { PER_ADDRESS } from '../platform/http/address-limit.ts';
import { type ErrorFormat, malformedOptions, registerMalformed } from '../platform/http/malformed.ts';
import { causeOf, createRequestLog, markRefused, setCommonHeaders } from '../platform/http/request-log.ts';
import { registerShutdown, serverOptions } from '../platform/http/server.ts';
import type { Logger } from '../platform/logging/logger.ts';
import { observeHttp } from '../platform/observability/observe.ts';
import { createTelemetry, type Telemetry } from '../platform/observability/telemetry.ts';
import type { Links } from './channels/links.ts';

type HttpDependencies = Links & {
  logger: Logger;
  /** Default: 0. */
  drainMs?: number | undefined;
  /** Default: nobody. */
  trustedProxies?: readonly string[] | undefined;
  telemetry?: Telemetry;
};

const RETRY_AFTER_SECONDS = 5;
const MAX_BODY_BYTES = 4 * 1024;
const MAX_PER_MINUTE = 30;
const TEXT = 'text/plain; charset=utf-8';
const HTML = 'text/html; charset=utf-8';

/** Does not listen. Unknown paths, malformed paths and unknown secrets get the same 404; other malformed requests get 400. */
export async function buildHttpApp(dependencies: HttpDependencies): Promise<FastifyInstance> {
  const { logger, trustedProxies, telemetry = createTelemetry() } = dependencies;
  const log = createRequestLog(logger, 'reminders', () => ({}));
  /** The log has the pattern of the route, never the path, which holds a secret. */
  const begin = (request: FastifyRequest, reply: FastifyReply) => {
    setCommonHeaders(request, reply);
    reply.headers({ 'cache-control': 'no-store', 'content-security-policy': BARE_POLICY });
    log.begin(request, reply);
  };
  const format: ErrorFormat = {
    toJson: () => '{"error":"bad_request"}',
    send: (reply) => sendText(reply, 404, 'Not found.'),
    begin,
    log,
  };
  const app = Fastify({
    ...serverOptions(trustedProxies),
    ...malformedOptions(format),
    bodyLimit: MAX_BODY_BYTES,
  });
  observeHttp(app, 'reminders', telemetry.metrics);
  registerShutdown(app, dependencies.drainMs);
  // Ignores the body that a mail program posts: the link says it all.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null));

  app.addHook('onRequest', async (request, reply) => {
    begin(request, reply);
    // Fastify would refuse a malformed Content-Type before it calls the parser.
    delete request.headers['content-type'];
  });
  registerMalformed(app, format);
  await app.register(rateLimit, {
    ...PER_ADDRESS,
    max: MAX_PER_MINUTE,
  });
  app.setNotFoundHandler({ preHandler: app.rateLimit() }, (_request, reply) =>
    sendText(reply, 404, 'Not found.'),
  );
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (error.statusCode === 429) return sendText(reply, 429, 'Too many requests.');
    if (error.statusCode !== undefined && error.statusCode < 500) return sendText(reply, 400, 'Bad request.');
    const known = toServiceError(error);
    if (known.reason === 'INVALID_REQUEST') return sendText(reply, 400, 'Bad request.');
    if (known.reason === 'UNAVAILABLE') {
      markRefused(request, { reason: known.reason, cause: causeOf(known) });
      return sendText(reply.header('retry-after', RETRY_AFTER_SECONDS), 503, 'Try again later.');
    }
    logger.error({ err: error, tier: 'reminders', requestId: request.id }, 'request failed');
    return sendText(reply, 500, 'Something went wrong.');
  });

  app.get<{ Params: { file: string } }>('/calendar/:file', async ({ params, headers }, reply) => {
    const [, secret] = /^(.+)\.ics$/.exec(params.file) ?? [];
    const feed = secret && (await dependencies.findCalendar(secret));
    if (!feed) return sendText(reply, 404, 'Not found.');
    reply.headers({ etag: feed.etag, 'cache-control': 'private, max-age=3600' });
    // The program has this calendar already. Only calendars have a tag: a 404 with one would become a 304 at the next request.
    const tag = headers['if-none-match'] ?? '';
    if (tag === feed.etag || `W/${tag}` === feed.etag) return reply.code(304).send();
    return reply.type('text/calendar; charset=utf-8').send(feed.text);
  });
  app.get<{ Params: { token: string } }>('/unsubscribe/:token', async ({ params: { token } }, reply) => {
    const isKnown = await dependencies.isUnsubscribeToken(token);
    return isKnown ? sendPage(reply, ASK_PAGE) : sendText(reply, 404, 'Not found.');
  });
  app.post<{ Params: { token: string } }>('/unsubscribe/:token', async ({ params: { token } }, reply) => {
    const isKnown = await dependencies.switchEmailOff(token);
    return isKnown ? sendPage(reply, donePage(token)) : sendText(reply, 404, 'Not found.');
  });
  app.post<{ Params: { token: string } }>(
    '/unsubscribe/:token/undo',
    async ({ params: { token } }, reply) => {
      const isOn = await dependencies.switchEmailOn(token);
      if (isOn === undefined) return sendText(reply, 404, 'Not found.');
      return sendPage(reply, isOn ? ON_PAGE : STILL_OFF_PAGE);
    },
  );
  return app;
}

const sendText = (reply: FastifyReply, status: number, text: string) =>
  reply.code(status).type(TEXT).send(`${text}\n`);

const sendPage = (reply: FastifyReply, page: string) =>
  reply.header('content-security-policy', PAGE_POLICY).type(HTML).send(page);

// The small pages of the unsubscribe link. They load nothing, run nothing, and hold nothing of the user's but the link's own token.

/** Only the colour scheme of the root darkens the page itself. */
const STYLE =
  ':root{color-scheme:light dark}' +
  'body{font:1.125rem/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem}' +
  'h1{font-size:1.5rem}button{font:inherit;padding:.5rem 1rem}';

/** Allows the style of these pages by its hash, and a form that is sent back to where the page came from. */
const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** For answers that are no page. */
const BARE_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** Its button sends a POST to the address of the page itself, in the words of RFC 8058. */
const ASK_PAGE = page(
  'Stop reminders by e-mail?',
  `<form method="post">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button>Stop reminders by e-mail</button>
</form>`,
);

/** Its button leads to the address of the page itself with /undo. */
const donePage = (token: string) =>
  page(
    'Reminders by e-mail are off',
    `<p>You will get no more of them.</p>
<form method="post" action="${encodeURIComponent(token)}/undo">
<button>Switch them on again</button>
</form>
<p>The link in an earlier mail leads back here.</p>`,
  );

const ON_PAGE = page('Reminders by e-mail are on', '<p>You will get them again at the set times.</p>');

/** E-mail is off for another reason, which support sees: the settings, or a mail server that refuses the address. */
const STILL_OFF_PAGE = page(
  'Reminders by e-mail are still off',
  '<p>They were not switched off here. Ask the support team of your learning app.</p>',
);

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;
}
