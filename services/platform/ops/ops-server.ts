// The port for machines that watch: GET /live, GET /ready, GET /metrics. Answers nothing that is secret or anybody's own.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { boundEach } from '../http-connections.ts';
import type { PrometheusMetrics } from './prometheus.ts';
import type { Readiness } from './readiness.ts';

export type OpsServer = { port: number; close(): void };

/** Metrics that are asked for more often are told again: they take milliseconds to write. */
const REUSED_MS = 100;

/** Listens at once. @throws Error where the port is taken, with the address in its text. */
export async function startOpsServer(options: {
  host: string;
  /** 0: any free one. */
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
  // A few watchers; whoever opens more is none.
  server.maxConnections = 64;
  boundEach(server);
  server.listen(port, host);
  await once(server, 'listening').catch((error: unknown) => {
    throw new Error(`cannot listen on ${host}:${port} (OPS_PORT): ${String(error)}`, { cause: error });
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** What `find` found, again for `ms` from when it was asked, and as long as it is under way. */
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
