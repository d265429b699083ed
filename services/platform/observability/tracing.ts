// Spans of OpenTelemetry. Its API does nothing until `startTracing` has loaded the SDK, which is large.
import {
  context,
  DiagLogLevel,
  diag,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { within } from '../concurrency.ts';
import type { Logger } from '../logging/logger.ts';
import { parseJson } from '../text.ts';

/** Only our own IDs, names and codes: never titles, keys, SQL parameters or other user data. */
type Attributes = Readonly<Record<string, string | number>>;

type SpanDescription = {
  /** The part of the system, such as rest or scheduling. */
  tier: string;
  name: string;
  kind: 'server' | 'client';
  attributes: Attributes;
  /** Reads an incoming header: its traceparent is the parent; default: the active span. */
  incoming?: (header: string) => string | undefined;
};

export type Span = {
  /** Runs `work` with this span active, asynchronous parts included. */
  run<T>(work: () => T): T;
  /** `failure` is an error code for our own faults. Never a message, which can contain user data. */
  end(outcome: { attributes?: Attributes; failure?: string }): void;
};

export function beginSpan({ tier, name, kind, attributes, incoming }: SpanDescription): Span {
  const parent =
    incoming === undefined ? context.active() : propagation.extract(context.active(), incoming, READ);
  const spanKind = kind === 'server' ? SpanKind.SERVER : SpanKind.CLIENT;
  const span = trace.getTracer(tier).startSpan(name, { kind: spanKind, attributes }, parent);
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
}

/** Headers for an outgoing call that make the active span its parent. */
export function outgoingTraceHeaders(): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers, WRITE);
  return headers;
}

/** No baggage: callers could send arbitrary data through all tiers. */
const HEADERS: readonly string[] = ['traceparent', 'tracestate'];
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

/** Maximum delay of a shutdown if the collector is unreachable. */
const FLUSH_MS = 2000;

/**
 * Sends all spans of the process as OTLP over HTTP. `endpoint` is the collector's base URL, as in OTEL_EXPORTER_OTLP_ENDPOINT;
 * /v1/traces is appended. @returns a function that sends what is left.
 */
export async function startTracing(endpoint: string, serviceName: string, logger: Logger) {
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  const { BatchSpanProcessor, NodeTracerProvider } = await import('@opentelemetry/sdk-trace-node');
  const warn = (text: string) => logger.warn({ reason: reasonOf(text) }, NOT_SENT);
  diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, DiagLogLevel.ERROR);
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` });
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  provider.register();
  return async () => {
    const sent = provider.shutdown().catch(() => {});
    await within(sent, FLUSH_MS, () => {});
  };
}

const NOT_SENT = 'traces are not sent: start the collector, or correct OTEL_EXPORTER_OTLP_ENDPOINT';
const MAX_REASON_CHARACTERS = 300;

/** The message of a fault that OpenTelemetry reports as a sentence or as an error in JSON; at most 300 characters. */
export function reasonOf(text: string): string {
  const said = Object(parseJson(text)).message ?? text;
  return String(said).slice(0, MAX_REASON_CHARACTERS);
}

/** Version 00 exactly; for later versions the first four fields, which the standard guarantees. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const LATER_VERSION =
  /^(?!00|ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}-[!-~]{1,200}$/;

/** The header's value if it is a valid traceparent, else undefined, as the standard (w3.org/TR/trace-context) requires. */
export function readTraceparent(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  return TRACEPARENT.test(value) || LATER_VERSION.test(value) ? value : undefined;
}
