// Every metric there is, and how the code tells one: a catalogue, an interface, and the form of it that measures nothing.

type Definition = {
  kind: 'counter' | 'histogram' | 'gauge';
  /** Their values come from code, never from users: route patterns, names of rpcs, codes. */
  labels: readonly string[];
  help: string;
};

/** Prometheus writes a histogram as NAME_bucket, NAME_sum and NAME_count: rate, errors and duration in one. */
export const METRICS = {
  srs_http_request_duration_seconds: {
    kind: 'histogram',
    labels: ['tier', 'method', 'route', 'status'],
    help: 'HTTP requests by route pattern; status is hung_up where the client left before its answer.',
  },
  srs_grpc_server_call_duration_seconds: {
    kind: 'histogram',
    labels: ['rpc', 'code'],
    help: 'gRPC calls answered here; a stream counts when it ends.',
  },
  srs_grpc_client_call_duration_seconds: {
    kind: 'histogram',
    labels: ['rpc', 'code'],
    help: 'Unary gRPC calls made from here, as the caller saw them.',
  },
  srs_graphql_operation_duration_seconds: {
    kind: 'histogram',
    labels: ['type', 'outcome'],
    help: 'GraphQL operations that reached execution or validation, by type; outcome is ok, refused or failed.',
  },
  srs_pg_pool_connections: {
    kind: 'gauge',
    labels: ['pool', 'state'],
    help: 'Connections of a PostgreSQL pool, idle or busy.',
  },
  srs_pg_pool_waiting: {
    kind: 'gauge',
    labels: ['pool'],
    help: 'Statements that wait for a connection of the pool.',
  },
  srs_pg_pool_max: {
    kind: 'gauge',
    labels: ['pool'],
    help: 'Connections that the pool may open.',
  },
  srs_write_limit_mode: {
    kind: 'gauge',
    labels: ['mode'],
    help: '1 for where writes are limited now: redis, process.',
  },
  srs_write_limit_redis_configured: {
    kind: 'gauge',
    labels: [],
    help: '1 where REDIS_URL is set, so that mode process means that Redis is away.',
  },
  srs_write_limit_decisions_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Writes that passed the limit (allowed) or met it (refused, 429).',
  },
  srs_key_lookups_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Keys presented: hit (remembered), miss (asked of accounts), shared (with a twin), malformed, overloaded (503).',
  },
  srs_revocation_stream_up: {
    kind: 'gauge',
    labels: [],
    help: '1 while revocations are sure to be heard; at 0 no key is remembered and each is asked for.',
  },
  srs_overload_refusals_total: {
    kind: 'counter',
    labels: ['why'],
    help: 'Requests refused with 503 before any work: room (all taken), key_share (one key holds too much).',
  },
  srs_requests_at_work: {
    kind: 'gauge',
    labels: ['tier', 'kind'],
    help: 'Requests admitted and not yet answered: read, write.',
  },
  srs_schedule_lag_seconds: {
    kind: 'gauge',
    labels: ['task'],
    help: 'How late a task that runs regularly is: seconds past the time at which it should have succeeded again.',
  },
  srs_ready: { kind: 'gauge', labels: [], help: '1 where GET /ready answers 200.' },
  srs_check_ok: {
    kind: 'gauge',
    labels: ['check'],
    help: '1 for each check of GET /ready that finds nothing wrong; one that is degraded is 0, and the process still ready.',
  },
} as const satisfies Record<string, Definition>;

type Catalogue = typeof METRICS;
type Named<K extends Definition['kind']> = {
  [N in keyof Catalogue]: Catalogue[N]['kind'] extends K ? N : never;
}[keyof Catalogue];
export type MetricLabels<N extends keyof Catalogue> = Readonly<
  Record<Catalogue[N]['labels'][number], string>
>;
export type GaugeReading<N extends Named<'gauge'>> = { labels: MetricLabels<N>; value: number };

export type Metrics = {
  /** Whether anything is measured: what costs more than a call is left out where not. */
  isOn: boolean;
  /** Adds one. */
  count<N extends Named<'counter'>>(name: N, labels: MetricLabels<N>): void;
  /** Starts a stopwatch; what is returned stops it and counts the time under its labels. */
  time<N extends Named<'histogram'>>(name: N): (labels: MetricLabels<N>) => void;
  /** `read` is called at each scrape; a gauge may have several, with labels that differ. */
  gauge<N extends Named<'gauge'>>(
    name: N,
    read: () => readonly GaugeReading<N>[] | Promise<readonly GaugeReading<N>[]>,
  ): void;
};

const nothing = () => {};

/** Measures nothing. */
export const NO_METRICS: Metrics = { isOn: false, count: nothing, time: () => nothing, gauge: nothing };
