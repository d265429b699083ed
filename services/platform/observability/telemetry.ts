// Health, metrics and traces of a process, and the ops port: GET /live, GET /ready, GET /metrics. No response contains secrets or
// user data.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { ok, warning } from '../checks.ts';
import { type Logger, whyLinesWait } from '../logging/logger.ts';
import type { EnvironmentReader } from '../process/config.ts';
import { portOf } from '../process/ports.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { createReadiness, type Readiness } from './readiness.ts';
import { startTracing } from './tracing.ts';

type TelemetryConfig = {
  /** undefined: no ops port. */
  ops: { host: string; port: number } | undefined;
  /** undefined: no traces. */
  traceEndpoint: string | undefined;
};

export function readTelemetryConfig(reader: EnvironmentReader): TelemetryConfig {
  const ops = { host: reader.text('OPS_HOST'), port: reader.wholeNumber('OPS_PORT') };
  const traceEndpoint = reader.text('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (traceEndpoint !== undefined && !/^https?:$/.test(URL.parse(traceEndpoint)?.protocol ?? '')) {
    reader.problem('OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL, such as http://127.0.0.1:4318');
  }
  return { ops: reader.isSet('OPS_PORT') ? ops : undefined, traceEndpoint };
}

/** The telemetry that the parts of a process use. */
export type Telemetry = { metrics: Metrics; readiness: Pick<Readiness, 'add'> };

/** Telemetry that nobody reads, for a command or a test. */
export function createTelemetry(): Telemetry {
  return { metrics: createMetrics(), readiness: createReadiness() };
}

export type ProcessTelemetry = Telemetry & {
  /** undefined if OPS_PORT is not set. */
  opsPort: number | undefined;
  /** From now on GET /ready reports the checks. */
  started(): void;
  /** From now on GET /ready reports the shutdown. */
  stopping(): void;
  /** Call last, so that the shutdown can be monitored. */
  close(): Promise<void>;
};

/**
 * Call before the parts are started, so that their start can be monitored.
 * @throws Error if OPS_PORT is in use.
 */
export async function startTelemetry(options: {
  config: TelemetryConfig;
  /** The program's name. */
  name: string;
  logger: Logger;
}): Promise<ProcessTelemetry> {
  const { name, logger } = options;
  const { ops, traceEndpoint } = options.config;
  const metrics = createMetrics();
  const readiness = createReadiness();
  readiness.add({
    name: 'process/log',
    run() {
      const reason = whyLinesWait();
      if (reason === undefined) return ok('lines are written');
      return warning(reason, 'free the disk, or restart the program that reads the lines');
    },
  });
  const server = ops && (await startOpsServer({ ...ops, readiness, metrics }));
  if (server !== undefined) logger.info({ host: ops?.host, port: server.port }, 'ops is ready');
  const sendTraces = traceEndpoint && (await startTracing(traceEndpoint, name, logger));
  return {
    metrics,
    readiness,
    opsPort: server?.port,
    started: readiness.started,
    stopping: readiness.stopping,
    async close() {
      if (sendTraces) await sendTraces();
      server?.close();
    },
  };
}

/** @throws Error that names the address if the port is in use. */
async function startOpsServer(options: {
  host: string;
  /** 0 for any free port. */
  port: number;
  readiness: Readiness;
  metrics: Metrics;
}): Promise<{ port: number; close(): void }> {
  const { host, port, readiness, metrics } = options;
  metrics.measureProcess();
  metrics.gauge('srs_ready', async () => [{ labels: {}, value: (await readiness.report()).ready ? 1 : 0 }]);
  metrics.gauge('srs_check_ok', async () =>
    (await readiness.report()).checks.map(({ name, state }) => ({
      labels: { check: name },
      value: state === 'ok' ? 1 : 0,
    })),
  );
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
  // Monitoring needs few connections; the limit stops other clients.
  server.maxConnections = 64;
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

function send(response: ServerResponse, status: number, body: string, type = 'application/json'): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
}

/** Measures how late the periodic work `task` is, as a metric. @returns a function to call after each successful run. */
export function watchLag({ metrics }: Telemetry, task: string, everyMs: number): () => void {
  let doneTime = performance.now();
  metrics.gauge('srs_schedule_lag_seconds', () => {
    const lateMs = performance.now() - doneTime - everyMs;
    return [{ labels: { task }, value: Math.max(0, lateMs) / 1000 }];
  });
  return () => {
    doneTime = performance.now();
  };
}
