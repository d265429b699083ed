// The catalogue of all metrics, and their registry in Prometheus format.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

type Definition = {
  kind: 'counter' | 'histogram' | 'gauge';
  /** Label values never come from users: they are route patterns, rpc names and codes. */
  labels: readonly string[];
  help: string;
  /** Upper bounds of a histogram's buckets, in seconds. Default: those of requests, 1 ms to 5 s. */
  buckets?: readonly number[];
};

/** Prometheus writes a histogram as NAME_bucket, NAME_sum and NAME_count: rate, errors and duration in one. */
export const METRICS = {
  srs_http_request_duration_seconds: {
    kind: 'histogram',
    labels: ['tier', 'method', 'route', 'status'],
    help: 'HTTP requests by route pattern; status is hung_up if the connection closed before the whole response.',
  },
  srs_grpc_server_call_duration_seconds: {
    kind: 'histogram',
    labels: ['rpc', 'code'],
    help: 'gRPC calls served by this process; a stream counts when it ends.',
  },
  srs_grpc_client_call_duration_seconds: {
    kind: 'histogram',
    labels: ['rpc', 'code'],
    help: 'Unary gRPC calls made by this process, network included.',
  },
  srs_graphql_operation_duration_seconds: {
    kind: 'histogram',
    labels: ['type', 'outcome'],
    help: 'GraphQL operations that reached execution or validation, by type; outcome is ok, refused or failed.',
  },
  srs_pg_pool_connections: {
    kind: 'gauge',
    labels: ['pool', 'state'],
    help: 'Connections of a PostgreSQL pool by state: idle or busy.',
  },
  srs_pg_pool_waiting: {
    kind: 'gauge',
    labels: ['pool'],
    help: 'Statements waiting for a connection of the pool.',
  },
  srs_pg_pool_max: {
    kind: 'gauge',
    labels: ['pool'],
    help: 'Maximum number of connections of the pool.',
  },
  srs_write_limit_mode: {
    kind: 'gauge',
    labels: ['mode'],
    help: '1 for the place where writes are limited now: redis or process.',
  },
  srs_write_limit_redis_configured: {
    kind: 'gauge',
    labels: [],
    help: '1 if REDIS_URL is set; then mode process means that Redis is unavailable.',
  },
  srs_write_limit_decisions_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Writes within the limit (allowed) and beyond it (refused with 429).',
  },
  srs_key_lookups_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Lookups in the cache of verified keys: hit, miss, shared (joined a verification in progress), malformed, overloaded (503).',
  },
  srs_key_requests_dropped_total: {
    kind: 'counter',
    labels: [],
    help: 'Requests missing from the counts of their keys, because accounts did not accept the counts for too long or refused them.',
  },
  srs_revocation_stream_up: {
    kind: 'gauge',
    labels: [],
    help: '1 while the revocation stream works; at 0 the key cache is bypassed and accounts verifies every request.',
  },
  srs_overload_refusals_total: {
    kind: 'counter',
    labels: ['why'],
    help: 'Requests refused with 503 before any work: room (the process is at capacity), key_share (the key uses its share of it).',
  },
  srs_requests_at_work: {
    kind: 'gauge',
    labels: ['tier', 'kind'],
    help: 'Requests in progress by kind: read or write.',
  },
  srs_schedule_lag_seconds: {
    kind: 'gauge',
    labels: ['task'],
    help: 'Seconds since a periodic task should have succeeded; 0 while it is on time.',
  },
  srs_reminders_waiting: {
    kind: 'gauge',
    labels: ['kind'],
    help: 'Reminders whose turn has come and that are not claimed yet (reminder), and deliveries not sent yet (delivery); counted to 100,000.',
  },
  srs_reminders_claimed_total: {
    kind: 'counter',
    labels: [],
    help: 'Reminders that this process has turned into deliveries.',
  },
  srs_reminder_deliveries_total: {
    kind: 'counter',
    labels: ['channel', 'outcome', 'reason'],
    help: 'Deliveries by channel and outcome: sent, skipped or failed with the reason, retried (a temporary failure).',
  },
  srs_reminder_lag_seconds: {
    kind: 'histogram',
    labels: ['channel'],
    help: 'Time from the instant of a reminder until PostgreSQL stores that it was sent.',
    buckets: [1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 7200],
  },
  srs_ready: { kind: 'gauge', labels: [], help: '1 if GET /ready returns 200.' },
  srs_check_ok: {
    kind: 'gauge',
    labels: ['check'],
    help: '1 for each passed check of GET /ready; a degraded check is 0 although the process stays ready.',
  },
} as const satisfies Record<string, Definition>;

type Catalogue = typeof METRICS;
type Named<K extends Definition['kind']> = {
  [N in keyof Catalogue]: Catalogue[N]['kind'] extends K ? N : never;
}[keyof Catalogue];
type MetricLabels<N extends keyof Catalogue> = Readonly<Record<Catalogue[N]['labels'][number], string>>;
type GaugeReading<N extends Named<'gauge'>> = { labels: MetricLabels<N>; value: number };

export type Metrics = {
  /** Adds one, or as many as are given. */
  count<N extends Named<'counter'>>(name: N, labels: MetricLabels<N>, times?: number): void;
  /** Records a duration in seconds that the caller has measured. */
  observe<N extends Named<'histogram'>>(name: N, labels: MetricLabels<N>, seconds: number): void;
  /** Starts a timer. The returned function stops it and records the time under its labels. */
  time<N extends Named<'histogram'>>(name: N): (labels: MetricLabels<N>) => void;
  /** Calls `read` at each scrape. A gauge may have several readers with different labels. */
  gauge<N extends Named<'gauge'>>(
    name: N,
    read: () => readonly GaugeReading<N>[] | Promise<readonly GaugeReading<N>[]>,
  ): void;
  /** Adds those of the process: CPU, memory, garbage collection, event-loop lag, which cost a little all the time. */
  measureProcess(): void;
  contentType: string;
  /** All metrics in Prometheus's text format. */
  render(): Promise<string>;
};

/** From a cached key lookup to a call that misses its deadline. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

type Reading = { labels: Readonly<Record<string, string>>; value: number };
type Read = () => readonly Reading[] | Promise<readonly Reading[]>;

/** A registry of its own with every metric of the catalogue. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const counters = new Map<string, Counter>();
  const histograms = new Map<string, Histogram>();
  const readers = new Map<string, Read[]>();
  for (const [name, definition] of Object.entries<Definition>(METRICS)) {
    const { kind, labels, help, buckets = BUCKETS_SECONDS } = definition;
    const common = { name, help, labelNames: [...labels], registers: [registry] };
    if (kind === 'counter') counters.set(name, new Counter(common));
    else if (kind === 'histogram') histograms.set(name, new Histogram({ ...common, buckets: [...buckets] }));
    else readers.set(name, addGauge(common));
  }
  return {
    count: (name, labels, times) => counters.get(name)?.inc(labels, times),
    observe: (name, labels, seconds) => histograms.get(name)?.observe(labels, seconds),
    time(name) {
      const began = performance.now();
      return (labels) => histograms.get(name)?.observe(labels, (performance.now() - began) / 1000);
    },
    gauge: (name, read) => void readers.get(name)?.push(read),
    measureProcess: () => collectDefaultMetrics({ register: registry }),
    contentType: registry.contentType,
    render: () => registry.metrics(),
  };
}

/** @returns the list to which readers are added. */
function addGauge(options: { name: string; help: string; labelNames: string[]; registers: Registry[] }) {
  const reads: Read[] = [];
  new Gauge({
    ...options,
    async collect() {
      // A reader that fails, for example without its database, must not hide all other metrics.
      const results = await Promise.allSettled(reads.map(async (read) => read()));
      const readings = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
      this.reset();
      // Without readings: prom-client would report 0 for a gauge without labels.
      if (readings.length === 0 && options.labelNames.length === 0) this.remove();
      for (const { labels, value } of readings) this.set(labels, value);
    },
  });
  return reads;
}
