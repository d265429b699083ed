// What a process tells about itself: health, metrics, traces. Each is loaded only where the environment asks for it.
import type { EnvironmentReader } from '../config.ts';
import type { Logger } from '../logger.ts';
import { type Metrics, NO_METRICS } from './metrics.ts';
import { createReadiness, type Readiness } from './readiness.ts';
import { NO_TRACING, type Tracing } from './tracing.ts';

export type TelemetryConfig = {
  /** undefined: no port, and nothing is measured. */
  ops: { host: string; port: number } | undefined;
  /** undefined: nothing is traced. */
  traceEndpoint: string | undefined;
};

export function readTelemetryConfig(reader: EnvironmentReader): TelemetryConfig {
  const port = reader.optionalPort('OPS_PORT');
  const host = reader.textOr('OPS_HOST', '127.0.0.1');
  const traceEndpoint = reader.text('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (traceEndpoint !== undefined && !/^https?:$/.test(protocolOf(traceEndpoint))) {
    reader.problem('OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL, such as http://127.0.0.1:4318');
  }
  return { ops: port === undefined ? undefined : { host, port }, traceEndpoint };
}

function protocolOf(text: string): string {
  return URL.canParse(text) ? new URL(text).protocol : '';
}

/** What the parts of a process are given. */
export type Telemetry = { metrics: Metrics; tracing: Tracing; readiness: Pick<Readiness, 'add'> };

/** Measures, traces and checks nothing. */
export const NO_TELEMETRY: Telemetry = {
  metrics: NO_METRICS,
  tracing: NO_TRACING,
  readiness: { add() {} },
};

export type ProcessTelemetry = Telemetry & {
  /** undefined where OPS_PORT is not set. */
  opsPort: number | undefined;
  /** From now on GET /ready tells what the checks find. */
  started(): void;
  /** From now on GET /ready says that the process is ending. */
  stopping(): void;
  /** To be called last: until then the process can be watched. */
  close(): Promise<void>;
};

/**
 * To be called before the parts are started, so that they can be watched while they start.
 * @throws Error where OPS_PORT is taken.
 */
export async function startTelemetry(options: {
  config: TelemetryConfig;
  /** The program's name. */
  name: string;
  logger: Logger;
}): Promise<ProcessTelemetry> {
  const { config, name, logger } = options;
  const readiness = createReadiness();
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
