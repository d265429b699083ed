import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { startAccounts } from '../../services/accounts/service.ts';
import { warning } from '../../services/platform/checks.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createMetrics, METRICS } from '../../services/platform/observability/metrics.ts';
import { startTelemetry } from '../../services/platform/observability/telemetry.ts';
import { startReminders } from '../../services/reminders/service.ts';
import { startScheduling } from '../../services/scheduling/service.ts';
import { ask, createMigratedDatabase, type TestDatabase } from '../support/database.ts';
import { watchHealth } from '../support/health.ts';
import { REMINDERS_CONFIG } from '../support/reminders.ts';

describe('the port for machines that watch', () => {
  test('lives from the first moment, and is ready only between start and end', () =>
    withTelemetry(async (telemetry, ask) => {
      expect((await ask('/live')).status).toBe(200);
      const starting = await ask('/ready');
      expect([starting.status, await starting.json()]).toEqual([
        503,
        { ready: false, reasons: ['process: starting'], checks: [] },
      ]);
      telemetry.started();
      expect((await ask('/ready')).status).toBe(200);
      telemetry.stopping();
      const ending = await ask('/ready');
      expect([ending.status, await ending.json()]).toMatchObject([
        503,
        { reasons: ['process: shutting down'] },
      ]);
      expect((await ask('/live')).status).toBe(200);
    }));

  test('is not ready where a check fails, throws or does not end, and ready where one is degraded', () =>
    withTelemetry(async (telemetry, ask) => {
      telemetry.started();
      telemetry.readiness.add({ name: 'a/one', run: () => warning('slow', 'wait') });
      const degraded = await ask('/ready');
      expect([degraded.status, await degraded.json()]).toMatchObject([
        200,
        {
          ready: true,
          reasons: ['a/one: slow'],
          checks: expect.arrayContaining([
            { name: 'a/one', state: 'degraded', reason: 'slow', remedy: 'wait' },
          ]),
        },
      ]);
      const told = await (await ask('/metrics')).text();
      expect(told).toContain('srs_ready 1\n');
      expect(told).toContain('srs_check_ok{check="a/one"} 0\n');
      telemetry.readiness.add({
        name: 'a/two',
        run: () => Promise.reject(Object.assign(new Error('secret text'), { code: 'ECONNREFUSED' })),
      });
      telemetry.readiness.add({ name: 'a/three', run: () => new Promise(() => {}) });
      const failed = await ask('/ready');
      expect(failed.status).toBe(503);
      expect(await failed.json()).toMatchObject({
        ready: false,
        reasons: ['a/one: slow', 'a/two: does not answer (ECONNREFUSED)', 'a/three: no answer within 1 s'],
      });
    }));

  test('answers in the types that Prometheus and probes read, for nobody to keep', () =>
    withTelemetry(async (_telemetry, ask) => {
      for (const [path, type] of [
        ['/live', 'application/json'],
        ['/ready', 'application/json'],
        ['/metrics', 'text/plain; version=0.0.4; charset=utf-8'],
      ] as const) {
        const { headers } = await ask(path);
        const names = ['content-type', 'cache-control', 'x-content-type-options'];
        expect(names.map((name) => headers.get(name))).toEqual([type, 'no-store', 'nosniff']);
      }
    }));

  test('answers nothing else, and only to GET and HEAD', () =>
    withTelemetry(async (telemetry, ask) => {
      for (const path of ['/', '/metrics/', '/__proto__', '/v1/me'])
        expect((await ask(path)).status).toBe(404);
      const url = `http://127.0.0.1:${telemetry.opsPort}/metrics`;
      const head = await fetch(url, { method: 'HEAD' });
      expect([head.status, await head.text()]).toEqual([200, '']);
      expect((await fetch(url, { method: 'POST', body: 'x' })).status).toBe(405);
    }));

  test('that is taken is named when the process starts', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const config = { ops: { host: '127.0.0.1', port }, traceEndpoint: undefined };
    await expect(startTelemetry({ config, name: 'test', logger })).rejects.toThrow(
      /cannot listen on .*OPS_PORT/,
    );
    other.close();
  });
});

test('metrics count, time and read under the labels of the catalogue', async () => {
  const metrics = createMetrics();
  metrics.count('srs_write_limit_decisions_total', { outcome: 'refused' });
  metrics.count('srs_write_limit_decisions_total', { outcome: 'refused' });
  metrics.time('srs_grpc_client_call_duration_seconds')({ rpc: 'a.v1.B/C', code: 'OK' });
  metrics.gauge('srs_pg_pool_waiting', () => [{ labels: { pool: 'one' }, value: 3 }]);
  metrics.gauge('srs_pg_pool_waiting', async () => [{ labels: { pool: 'two' }, value: 4 }]);
  const text = await metrics.render();
  expect(text).toContain('srs_write_limit_decisions_total{outcome="refused"} 2\n');
  expect(text).toContain('srs_grpc_client_call_duration_seconds_count{rpc="a.v1.B/C",code="OK"} 1\n');
  expect(text).toContain('srs_pg_pool_waiting{pool="one"} 3\nsrs_pg_pool_waiting{pool="two"} 4\n');
  for (const name of Object.keys(METRICS)) expect(text).toContain(`# HELP ${name} `);
  expect(text).not.toMatch(/^srs_ready /m);
});

test('a duration is told in seconds', async () => {
  let nowMs = 1_000_000;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const metrics = createMetrics();
  const stop = metrics.time('srs_grpc_client_call_duration_seconds');
  nowMs += 250;
  stop({ rpc: 'a.v1.B/C', code: 'OK' });
  vi.restoreAllMocks();
  const text = await metrics.render();
  expect(text).toContain('srs_grpc_client_call_duration_seconds_sum{rpc="a.v1.B/C",code="OK"} 0.25\n');
});

test('a metric that cannot be read is left out, and the others are told', async () => {
  const metrics = createMetrics();
  metrics.gauge('srs_reminders_waiting', () => Promise.reject(new Error('the database is away')));
  metrics.gauge('srs_pg_pool_waiting', () => [{ labels: { pool: 'one' }, value: 3 }]);
  const text = await metrics.render();
  expect(text).toContain('srs_pg_pool_waiting{pool="one"} 3\n');
  expect(text).not.toMatch(/^srs_reminders_waiting/m);
});

test('what can no longer be read, and what has gone, is no longer told', async () => {
  const metrics = createMetrics();
  let isAway = false;
  metrics.gauge('srs_reminders_waiting', async () => {
    if (isAway) throw new Error('the database is away');
    return [{ labels: { kind: 'reminder' }, value: 7 }];
  });
  let pools = ['one', 'two'];
  metrics.gauge('srs_pg_pool_waiting', () => pools.map((pool) => ({ labels: { pool }, value: 3 })));
  const before = await metrics.render();
  expect(before).toContain('srs_reminders_waiting{kind="reminder"} 7\n');
  expect(before).toContain('srs_pg_pool_waiting{pool="one"} 3\nsrs_pg_pool_waiting{pool="two"} 3\n');
  isAway = true;
  pools = ['two'];
  const after = await metrics.render();
  expect(after).not.toMatch(/^srs_reminders_waiting/m);
  expect(after.match(/^srs_pg_pool_waiting.*$/gm)).toEqual(['srs_pg_pool_waiting{pool="two"} 3']);
});

describe('grpc.health.v1', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createMigratedDatabase();
  });
  afterAll(() => database.drop());

  /** Lets nobody into the database any more, or everybody again. */
  async function setOpen(isOpen: boolean): Promise<void> {
    await ask(inject('postgresUrl'), `ALTER DATABASE ${databaseName()} ALLOW_CONNECTIONS ${isOpen}`);
  }

  async function endConnections(): Promise<void> {
    const own = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${databaseName()}'`;
    await ask(inject('postgresUrl'), own);
  }

  const databaseName = () => new URL(database.databaseUrl).pathname.slice(1);
  const now = () => new Date();
  test('scheduling, accounts and reminders say NOT_SERVING while the database is gone, SERVING once it is back, NOT_SERVING when the end begins', async () => {
    const { databaseUrl } = database;
    const services = await Promise.all([
      startScheduling({ config: { ...common, databaseUrl }, logger, now }),
      startAccounts({
        config: {
          ...common,
          databaseUrl,
          peppers: [{ version: '1', secret: 'o'.repeat(32) }],
          keysPerHour: 5,
        },
        logger,
        now,
        audit: () => {},
      }),
      startReminders({
        config: {
          ...REMINDERS_CONFIG,
          databaseUrl,
          schedulingTarget: '127.0.0.1:1',
          accountsTarget: '127.0.0.1:1',
        },
        logger,
        now,
      }),
    ]);
    const healths = services.map(({ port }) => watchHealth(`127.0.0.1:${port}`));
    const told = () => healths.map(({ statuses }) => statuses.join());
    await expect.poll(told).toEqual(Array(3).fill('SERVING'));
    await setOpen(false);
    const withoutDatabase = async () => {
      // Again and again, since a connection that opened meanwhile is not listed at once.
      await endConnections();
      return told();
    };
    await expect.poll(withoutDatabase, { interval: 200 }).toEqual(Array(3).fill('SERVING,NOT_SERVING'));
    await setOpen(true);
    await expect.poll(told).toEqual(Array(3).fill('SERVING,NOT_SERVING,SERVING'));
    const closed = services.map((service) => service.close(300));
    const all = 'SERVING,NOT_SERVING,SERVING,NOT_SERVING';
    await expect.poll(told).toEqual(Array(3).fill(all));
    await Promise.all(closed);
    for (const health of healths) await health.ended;
    // Nothing has turned it back.
    expect(told()).toEqual(Array(3).fill(all));
    for (const health of healths) health.stop();
  });
});

const logger = createLogger('test', 'silent');
const trust = { serviceTokens: [], tls: undefined };
const common = { logLevel: 'silent', shutdownTimeoutMs: 2000, trust, host: '127.0.0.1', port: 0 } as const;

async function withTelemetry(
  use: (
    telemetry: Awaited<ReturnType<typeof startTelemetry>>,
    ask: (path: string) => Promise<Response>,
  ) => Promise<void>,
) {
  const config = { ops: { host: '127.0.0.1', port: 0 }, traceEndpoint: undefined };
  const telemetry = await startTelemetry({ config, name: 'test', logger });
  try {
    await use(telemetry, (path) => fetch(`http://127.0.0.1:${telemetry.opsPort}${path}`));
  } finally {
    await telemetry.close();
  }
}
