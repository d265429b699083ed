// Exports OpenTelemetry traces as OTLP over HTTP. Imported only if an endpoint is set, since the SDK is large.
import {
  context,
  DiagLogLevel,
  diag,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { within } from '../concurrency.ts';
import type { Logger } from '../logging/logger.ts';
import type { Tracing } from './tracing.ts';

/** Maximum delay of a shutdown if the collector is unreachable. */
const FLUSH_MS = 2000;

/** No baggage propagation: callers could send arbitrary data through all tiers. */
const HEADERS: readonly string[] = ['traceparent', 'tracestate'];

/** `endpoint` is the collector's base URL, as in OTEL_EXPORTER_OTLP_ENDPOINT; /v1/traces is appended. */
export function createTracing(options: {
  endpoint: string;
  serviceName: string;
  logger: Logger;
}): Tracing & { close(): Promise<void> } {
  const { endpoint, serviceName, logger } = options;
  const warn = (message: string) => logger.warn({ reason: message.slice(0, 300) }, 'traces not sent');
  diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, DiagLogLevel.ERROR);
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    spanProcessors: [
      new BatchSpanProcessor(new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` })),
    ],
  });
  provider.register();
  return {
    isOn: true,
    begin({ tier, name, kind, attributes, incoming }) {
      const parent =
        incoming === undefined ? context.active() : propagation.extract(context.active(), incoming, READ);
      const spanKind = kind === 'server' ? SpanKind.SERVER : SpanKind.CLIENT;
      const span = provider.getTracer(tier).startSpan(name, { kind: spanKind, attributes }, parent);
      const active = trace.setSpan(parent, span);
      return {
        run: (work) => context.with(active, work),
        end(outcome) {
          if (outcome.attributes !== undefined) span.setAttributes(outcome.attributes);
          if (outcome.failure !== undefined) {
            span.setAttribute('error.type', outcome.failure);
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
    outgoing() {
      const headers: Record<string, string> = {};
      propagation.inject(context.active(), headers, WRITE);
      return headers;
    },
    async close() {
      const sent = provider.shutdown().catch(() => {});
      await within(sent, FLUSH_MS, () => {});
    },
  };
}

const READ = {
  get: (read: (header: string) => string | undefined, header: string) =>
    HEADERS.includes(header) ? read(header) : undefined,
  keys: () => [...HEADERS],
};
const WRITE = {
  set(headers: Record<string, string>, header: string, value: string) {
    if (HEADERS.includes(header)) headers[header] = value;
  },
};
