// Metrics as Prometheus reads them. Loaded only where they are asked for: prom-client is imported nowhere else.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { METRICS, type Metrics } from './metrics.ts';

export type PrometheusMetrics = Metrics & {
  contentType: string;
  /** All of it in Prometheus's text format. */
  render(): Promise<string>;
};

/** From a cached key check to a call that runs into its deadline. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

type Reading = { labels: Readonly<Record<string, string>>; value: number };
type Read = () => readonly Reading[] | Promise<readonly Reading[]>;

/** Also measures the process itself: CPU, memory, garbage collection, and how late the event loop is. */
export function createPrometheusMetrics(): PrometheusMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const counters = new Map<string, Counter>();
  const histograms = new Map<string, Histogram>();
  const readers = new Map<string, Read[]>();
  for (const [name, { kind, labels, help }] of Object.entries(METRICS)) {
    const common = { name, help, labelNames: [...labels], registers: [registry] };
    if (kind === 'counter') counters.set(name, new Counter(common));
    else if (kind === 'histogram')
      histograms.set(name, new Histogram({ ...common, buckets: BUCKETS_SECONDS }));
    else readers.set(name, addGauge(common));
  }
  return {
    isOn: true,
    count: (name, labels) => counters.get(name)?.inc(labels),
    time(name) {
      const began = performance.now();
      return (labels) => histograms.get(name)?.observe(labels, (performance.now() - began) / 1000);
    },
    gauge: (name, read) => void readers.get(name)?.push(read),
    contentType: registry.contentType,
    render: () => registry.metrics(),
  };
}

/** @returns the list that its readers are to be put into. */
function addGauge(options: { name: string; help: string; labelNames: string[]; registers: Registry[] }) {
  const reads: Read[] = [];
  new Gauge({
    ...options,
    async collect() {
      const readings = (await Promise.all(reads.map((read) => read()))).flat();
      this.reset();
      // Nobody read it: prom-client would show 0 for one without labels.
      if (readings.length === 0 && options.labelNames.length === 0) this.remove();
      for (const { labels, value } of readings) this.set(labels, value);
    },
  });
  return reads;
}
