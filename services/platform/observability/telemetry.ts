// Health, metrics and traces of a process. Each is loaded only if the environment enables it.

import { whyLinesWait } from '../logging/lines.ts';
import type { Logger } from '../logging/logger.ts';
import type { EnvironmentReader } from '../process/config.ts';
import { type Metrics, NO_METRICS } from './metrics.ts';
import { createReadiness, type Readiness } from './readiness.ts';
import { NO_TRACING, type Tracing } from './tracing.ts';

type TelemetryConfig = {
  /** undefined: no ops port and no metrics. */
  ops: { host: string; port: number } | undefined;
  /** undefined: no traces. */
  traceEndpoint: string | undefined;
};

export function readTelemetryConfig(reader: EnvironmentReader): TelemetryConfig {
  const isWatched = reader.text('OPS_PORT') !== undefined;
  const ops = { host: reader.text('OPS_HOST') ?? '127.0.0.1', port: reader.port('OPS_PORT', 0) };
  const traceEndpoint = reader.text('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (traceEndpoint !== undefined && !/^https?:$/.test(URL.parse(traceEndpoint)?.protocol ?? '')) {
    reader.problem('OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL, such as http://127.0.0.1:4318');
  }
  return { ops: isWatched ? ops : undefined, traceEndpoint };
}

/** The telemetry that the parts of a process use. */
export type Telemetry = { metrics: Metrics; tracing: Tracing; readiness: Pick<Readiness, 'add'> };

/** Telemetry that does nothing. */
export const NO_TELEMETRY: Telemetry = {
  metrics: NO_METRICS,
  tracing: NO_TRACING,
  readiness: { add() {} },
};

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
  const { config, name, logger } = options;
  const readiness = createReadiness();
  readiness.add({
    name: 'process/log',
    find() {
      const reason = whyLinesWait();
      return reason === undefined ? { state: 'ok' } : { state: 'degraded', reason };
    },
  });
  const ops = await startOps(config.ops, readiness, logger);
  const tracing = await startTracing(config.traceEndpoint, name, logger);
  return {
    metrics: ops?.metrics ?? NO_METRICS,
    tracing: tracing ?? NO_TRACING,
    readiness,
    opsPort: ops?.port,
    started: readiness.started,
    stopping: readiness.stopping,
    async close() {
      await tracing?.close();
      ops?.close();
    },
  };
}

async function startOps(config: TelemetryConfig['ops'], readiness: Readiness, logger: Logger) {
  if (config === undefined) return undefined;
  const { createPrometheusMetrics } = await import('./prometheus.ts');
  const { startOpsServer } = await import('./ops-server.ts');
  const metrics = createPrometheusMetrics();
  metrics.gauge('srs_ready', async () => [{ labels: {}, value: (await readiness.report()).ready ? 1 : 0 }]);
  metrics.gauge('srs_check_ok', async () =>
    (await readiness.report()).checks.map(({ name, state }) => ({
      labels: { check: name },
      value: state === 'ok' ? 1 : 0,
    })),
  );
  const server = await startOpsServer({ ...config, readiness, metrics });
  logger.info({ host: config.host, port: server.port }, 'ops is ready');
  return { metrics, port: server.port, close: server.close };
}

async function startTracing(endpoint: string | undefined, serviceName: string, logger: Logger) {
  if (endpoint === undefined) return undefined;
  const { createTracing } = await import('./opentelemetry.ts');
  return createTracing({ endpoint, serviceName, logger });
}
