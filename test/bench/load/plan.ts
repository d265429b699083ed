// What the load generator is told and what it tells back.

export type LoadPlan = {
  port: number;
  connections: number;
  /** Whole HTTP/1.1 requests, sent in turn, again from the first after the last. */
  requests: readonly string[];
  durationMs: number;
  /** Open loop: so many a second, whether or not the earlier ones are answered. Without it each connection waits. */
  ratePerSecond?: number;
  /** Ends after so many instead of after `durationMs`. */
  total?: number;
};

export type LoadResult = {
  answered: number;
  seconds: number;
  statuses: Record<string, number>;
  /** Of the open loop counted from the instant at which a request was to be sent, not from when it was. */
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** Answered 200 within half a second of when it was due. */
  good: number;
  /** 99th percentile of what was refused with 503, from when it was sent; NaN where nothing was. */
  refusedP99Ms: number;
};

export function httpRequest(path: string, key: string, json?: unknown): string {
  const body = json === undefined ? '' : JSON.stringify(json);
  const head = [
    `${json === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${key}`,
    ...(json === undefined
      ? []
      : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
