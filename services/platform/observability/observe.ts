// Measures and traces HTTP requests by route pattern, and gRPC calls at both ends by rpc name. A served call is logged as well.
import { type Metadata, status } from '@grpc/grpc-js';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServiceError } from '../errors.ts';
import { wasShed } from '../http/request-log.ts';
import type { Logger } from '../logging/logger.ts';
import { isObject } from '../text.ts';
import { readUuid } from '../uuid.ts';
import type { Metrics } from './metrics.ts';
import { beginSpan, type Span } from './tracing.ts';

/** Methods with a label of their own; all others share one, to bound the label values. */
const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST'];

/** Of a Fastify application. Register before all other hooks. */
export function observeHttp(app: FastifyInstance, tier: string, metrics: Metrics): void {
  const spans = new WeakMap<FastifyRequest, Span>();
  // Callback style: the span must stay active while `done` runs the rest of the request.
  app.addHook('onRequest', (request, reply, done) => {
    const stop = metrics.time('srs_http_request_duration_seconds');
    const method = METHODS.includes(request.method) ? request.method : 'other';
    const route = request.routeOptions.url ?? 'unknown';
    const span = beginSpan({
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
  app.addHook('preValidation', (request, _reply, done) => {
    const span = spans.get(request);
    if (span === undefined) done();
    else span.run(done);
  });
}

type ObservedCall = {
  /** Runs `work` within the call's span. */
  run<T>(work: () => T): T;
  /** `code` is the gRPC status code. `refusal` has the server's details. */
  end(code: number, refusal?: ServiceError): void;
};

/** Status codes that are faults of the server; the others are regular results. */
const FAULTS: readonly number[] = [
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.INTERNAL,
  status.UNAVAILABLE,
  status.DATA_LOSS,
  status.UNIMPLEMENTED,
];

/** "/package.Service/Method" in the form of labels, logs and traces. */
export function rpcName(path: string): string {
  return path.slice(1);
}

/** The service of a path in the form of logs and traces. */
export function tierOf(path: string): string {
  return rpcName(path).split('.')[0] ?? path;
}

/** The client side. */
export function observeSentCall(
  metrics: Metrics | undefined,
  { path, caller }: { path: string; caller: string },
): ObservedCall {
  const rpc = rpcName(path);
  const stop = metrics?.time('srs_grpc_client_call_duration_seconds');
  const span = beginSpan({ tier: caller, name: rpc, kind: 'client', attributes: attributesOf(rpc) });
  return {
    run: span.run,
    end(code) {
      stop?.({ rpc, code: nameOf(code) });
      span.end(outcomeOf(code));
    },
  };
}

/** The server side; writes one log line per call. */
export function observeServedCall(
  { metrics, logger }: { metrics: Metrics | undefined; logger: Logger },
  call: {
    path: string;
    metadata: Metadata;
    request: unknown;
    context: { requestId: string; caller: string };
  },
): ObservedCall {
  const rpc = rpcName(call.path);
  const tier = tierOf(call.path);
  const { requestId, caller } = call.context;
  const began = performance.now();
  const stop = metrics?.time('srs_grpc_server_call_duration_seconds');
  const span = beginSpan({
    tier,
    name: rpc,
    kind: 'server',
    attributes: { ...attributesOf(rpc), 'srs.request_id': requestId },
    incoming: (header) => call.metadata.get(header)[0]?.toString(),
  });
  return {
    run: span.run,
    end(code, refusal) {
      const name = nameOf(code);
      stop?.({ rpc, code: name });
      span.end(outcomeOf(code));
      if (!logger.isLevelEnabled('info')) return;
      const durationMs = Math.round((performance.now() - began) * 10) / 10;
      const { reason, field, keyRefusal } = refusal ?? {};
      const asked = { tier, requestId, rpc, userId: userOf(call.request), caller };
      logger.info(
        { ...asked, status: name, reason, field: field?.slice(0, 100), ...keyRefusal, durationMs },
        'call',
      );
    },
  };
}

function attributesOf(rpc: string) {
  const [service = '', method = ''] = rpc.split('/');
  return { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method };
}

function outcomeOf(code: number) {
  const attributes = { 'rpc.grpc.status_code': code };
  return FAULTS.includes(code) ? { attributes, failure: nameOf(code) } : { attributes };
}

function nameOf(code: number): string {
  return status[code] ?? 'UNKNOWN';
}

/** The userId of a request, if it is a UUID; other values are not logged. */
function userOf(request: unknown): string | undefined {
  return isObject(request) && typeof request.userId === 'string' ? readUuid(request.userId) : undefined;
}
