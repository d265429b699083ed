// The port for machines that watch: GET /live, GET /ready, GET /metrics. Answers nothing that is secret or anybody's own.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { boundEach } from '../http-connections.ts';
import type { PrometheusMetrics } from './prometheus.ts';
import type { Readiness } from './readiness.ts';

export type OpsServer = { port: number; close(): void };

/** Listens at once. @throws Error where the port is taken, with the address in its text. */
export async function startOpsServer(options: {
  host: string;
  /** 0: any free one. */
  port: number;
  readiness: Readiness;
  metrics: PrometheusMetrics;
}): Promise<OpsServer> {
  const { host, port, readiness, metrics } = options;
  const routes: Record<string, (response: ServerResponse) => Promise<void>> = {
    '/live': async (response) => send(response, 200, JSON.stringify({ live: true })),
    '/ready': async (response) => {
      const report = await readiness.report();
      send(response, report.ready ? 200 : 503, JSON.stringify(report));
    },
    '/metrics': async (response) => send(response, 200, await metrics.render(), metrics.contentType),
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

function send(response: ServerResponse, status: number, body: string, type = 'application/json'): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
}
