// Measures and traces the requests of a Fastify application by route pattern.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { wasShed } from '../http/request-log.ts';
import type { Telemetry } from './telemetry.ts';
import { NO_SPAN, type Span } from './tracing.ts';

/** Methods with a label of their own; all others share one, to bound the label values. */
const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST'];

/** Register before all other hooks. Registers nothing if metrics and traces are off. */
export function observeHttp(app: FastifyInstance, tier: string, { metrics, tracing }: Telemetry): void {
  if (!metrics.isOn && !tracing.isOn) return;
  const spans = new WeakMap<FastifyRequest, Span>();
  // Callback style: the span must stay active while `done` runs the rest of the request.
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
    // Fastify does not call onResponse if the client disconnected.
    reply.raw.once('close', () => {
      if (wasShed(request)) return;
      const status = reply.raw.writableFinished ? `${reply.statusCode}` : 'hung_up';
      stop({ tier, method, route, status });
      const attributes = { 'http.response.status_code': reply.statusCode };
      span.end({ attributes, ...(reply.statusCode >= 500 && { failure: status }) });
    });
    span.run(done);
  });
  // Body events come from the socket, outside the async context of the first hook.
  app.addHook('preValidation', (request, _reply, done) => (spans.get(request) ?? NO_SPAN).run(done));
}
