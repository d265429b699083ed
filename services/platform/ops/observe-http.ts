// Measures and traces the requests of a Fastify application, by the patterns of its routes.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { wasShed } from '../http-request.ts';
import type { Telemetry } from './telemetry.ts';
import { NO_SPAN, type Span } from './tracing.ts';

/** What we answer; any other method is one word, since clients may send what they like. */
const METHODS = ['GET', 'POST'];

/** To be registered before all other hooks; where nothing is measured or traced, nothing is registered. */
export function observeHttp(app: FastifyInstance, tier: string, { metrics, tracing }: Telemetry): void {
  if (!metrics.isOn && !tracing.isOn) return;
  const spans = new WeakMap<FastifyRequest, Span>();
  // With callbacks, since a span lasts as long as what is called from within it.
  app.addHook('onRequest', (request, reply, done) => {
    const stop = metrics.time('srs_http_request_duration_seconds');
    const method = METHODS.includes(request.method) ? request.method : 'other';
    const route = request.routeOptions.url ?? 'unknown';
    const span = tracing.begin({
      tier,
      name: `${method} ${route}`,
      kind: 'server',
      attributes: { 'http.request.method': method, 'http.route': route, 'srs.request_id': request.id },
      incoming: (header) => request.raw.headersDistinct[header]?.join(','),
    });
    spans.set(request, span);
    // Not the onResponse hook: it is never called where the client has hung up.
    reply.raw.once('close', () => {
      if (wasShed(request)) return;
      const status = reply.raw.writableFinished ? `${reply.statusCode}` : 'hung_up';
      stop({ tier, method, route, status });
      const attributes = { 'http.response.status_code': reply.statusCode };
      span.end({ attributes, ...(reply.statusCode >= 500 && { failure: status }) });
    });
    span.run(done);
  });
  // The body arrives in events of the socket, outside of what the first hook began.
  app.addHook('preValidation', (request, _reply, done) => (spans.get(request) ?? NO_SPAN).run(done));
}
