// The ops port: GET /live, GET /ready, GET /metrics. Responses contain no secrets and no user data.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { boundEach } from '../http/connections.ts';
import { portOf } from '../process/free-port.ts';
import type { PrometheusMetrics } from './prometheus.ts';
import type { Readiness } from './readiness.ts';

type OpsServer = { port: number; close(): void };

/** Metrics are cached for this long, since rendering takes milliseconds. */
const REUSED_MS = 100;

/** Starts listening. @throws Error that names the address if the port is in use. */
export async function startOpsServer(options: {
  host: string;
  /** 0 for any free port. */
  port: number;
  readiness: Readiness;
  metrics: PrometheusMetrics;
}): Promise<OpsServer> {
  const { host, port, readiness, metrics } = options;
  const report = atMostEach(0, () => readiness.report());
  const rendered = atMostEach(REUSED_MS, () => metrics.render());
  const routes: Record<string, (response: ServerResponse) => Promise<void>> = {
    '/live': async (response) => send(response, 200, JSON.stringify({ live: true })),
    '/ready': async (response) => {
      const found = await report();
      send(response, found.ready ? 200 : 503, JSON.stringify(found));
    },
    '/metrics': async (response) => send(response, 200, await rendered(), metrics.contentType),
  };
  const server = createServer(
    { headersTimeout: 5_000, requestTimeout: 5_000, maxHeaderSize: 8 * 1024 },
    (request, response) => {
      const [path = ''] = (request.url ?? '').split('?');
      const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
      if (route === undefined) return send(response, 404, '{"error":"only /live, /ready and /metrics"}');
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        return send(response, 405, '{"error":"only GET"}');
      }
      route(response).catch(() => send(response, 500, '{"error":"not measured"}'));
    },
  );
  // Monitoring needs few connections; the limit stops other clients.
  server.maxConnections = 64;
  boundEach(server);
  server.listen(port, host);
  await once(server, 'listening').catch((error: unknown) => {
    throw new Error(`cannot listen on ${host}:${port} (OPS_PORT): ${String(error)}`, { cause: error });
  });
  return {
    port: portOf(server),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Caches the result of `find` for `ms` from its start, and while it is pending. */
function atMostEach<T>(ms: number, find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined;
  let isUnderWay = false;
  let untilMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (found !== undefined && (isUnderWay || performance.now() < untilMs)) return found;
    isUnderWay = true;
    untilMs = performance.now() + ms;
    found = find().finally(() => {
      isUnderWay = false;
    });
    return found;
  };
}

function send(response: ServerResponse, status: number, body: string, type = 'application/json'): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
}
