// Metrics in Prometheus format. The only import of prom-client, loaded only if OPS_PORT is set.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type Definition, METRICS, type Metrics } from './metrics.ts';

export type PrometheusMetrics = Metrics & {
  contentType: string;
  /** All metrics in Prometheus's text format. */
  render(): Promise<string>;
};

/** From a cached key lookup to a call that misses its deadline. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

type Reading = { labels: Readonly<Record<string, string>>; value: number };
type Read = () => readonly Reading[] | Promise<readonly Reading[]>;

/** Includes process metrics: CPU, memory, garbage collection, event-loop lag. */
export function createPrometheusMetrics(): PrometheusMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
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
    isOn: true,
    count: (name, labels) => counters.get(name)?.inc(labels),
    observe: (name, labels, seconds) => histograms.get(name)?.observe(labels, seconds),
    time(name) {
      const began = performance.now();
      return (labels) => histograms.get(name)?.observe(labels, (performance.now() - began) / 1000);
    },
    gauge: (name, read) => void readers.get(name)?.push(read),
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
      // What cannot be read, as while a database is away, must not hide all other metrics.
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
