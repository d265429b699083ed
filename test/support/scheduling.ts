// The scheduling service alone, over real gRPC, on a database of its own, with a clock that a test may set.
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { Client } from 'pg';
import { onTestFinished, TestRunner } from 'vitest';
import type { LearnerServiceDefinition } from '../../generated/scheduling/v1/LearnerService.ts';
import type { MaterialServiceDefinition } from '../../generated/scheduling/v1/MaterialService.ts';
import type { ReviewServiceDefinition } from '../../generated/scheduling/v1/ReviewService.ts';
import type { SnoozeServiceDefinition } from '../../generated/scheduling/v1/SnoozeService.ts';
import type { StatsServiceDefinition } from '../../generated/scheduling/v1/StatsService.ts';
import type { UserDataServiceDefinition } from '../../generated/scheduling/v1/UserDataService.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { clientsOf } from '../../services/platform/grpc/client.ts';
import { toTimestamp } from '../../services/platform/instants.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { startScheduling } from '../../services/scheduling/service.ts';
import { CALL, eased } from './calls.ts';
import { createMigratedDatabase } from './database.ts';

export { CALL };

const NO_TRUST = { serviceTokens: [], tls: undefined };
export type SchedulingClients = ReturnType<typeof connectScheduling>;
export type TestScheduling = Awaited<ReturnType<typeof startTestScheduling>>;

export async function startTestScheduling() {
  const database = await createMigratedDatabase();
  let clockMs: number | undefined;
  let testWithClock: object | undefined;
  const common = { logLevel: 'silent', shutdownTimeoutMs: 2000, host: '127.0.0.1', port: 0 } as const;
  const config = { ...common, trust: NO_TRUST };
  const now = () => new Date(clockMs ?? Date.now());
  const stops: (() => Promise<void>)[] = [];
  /** One more process's worth of the service on the same database, and clients of it; ends with the first at the latest. */
  const startAnother = async ({ logger = createLogger('test', 'silent'), isPatient = false } = {}) => {
    const service = await startScheduling({
      config: { ...config, databaseUrl: database.databaseUrl },
      logger,
      now,
      isPatient,
    });
    const clients = connectScheduling(service.port);
    let stopped: Promise<void> | undefined;
    const stop = () => {
      closeClients(clients);
      stopped ??= service.close(1000);
      return stopped;
    };
    stops.push(stop);
    return { ...clients, port: service.port, stop };
  };
  const { stop: _, port, ...clients } = await startAnother();
  const { materials } = clients;
  const sql = new Client({ connectionString: database.databaseUrl });
  sql.on('error', () => {});
  await sql.connect();
  // The service counts its learners at its start, and again a minute later: no test is to meet it.
  while ((await sql.query('SELECT FROM scheduling.overview')).rowCount === 0) await setImmediate();
  return {
    ...clients,
    sql,
    port,
    target: `127.0.0.1:${port}`,
    startAnother,
    /** What the service takes for now. */
    now,
    databaseUrl: database.databaseUrl,
    /** In a test until its end, since other tests use the service too; outside until the end of the file. */
    setClock(time: string | undefined) {
      const test = TestRunner.getCurrentTest();
      if (test !== undefined && test !== testWithClock) {
        testWithClock = test;
        const before = clockMs;
        onTestFinished(() => {
          clockMs = before;
        });
      }
      clockMs = time === undefined ? undefined : Date.parse(time);
    },
    /** A material of `userId`; returns its id. */
    async create(userId: string, title = 'A material'): Promise<string> {
      const { material } = await materials.createMaterial({ userId, title });
      return material?.materialId ?? '';
    },
    async stop() {
      await sql.end();
      for (const stop of stops) await stop();
      await database.drop();
    },
  };
}

/** A client for each service of the process that listens on `port`. */
export function connectScheduling(port: number) {
  const target = `127.0.0.1:${port}`;
  const connect = clientsOf('scheduling.v1', { target, trust: NO_TRUST, caller: 'test', deadlineMs: 30_000 });
  return {
    materials: eased(connect<MaterialServiceDefinition>('MaterialService')),
    reviews: eased(connect<ReviewServiceDefinition>('ReviewService')),
    snoozes: eased(connect<SnoozeServiceDefinition>('SnoozeService')),
    learners: eased(connect<LearnerServiceDefinition>('LearnerService')),
    stats: eased(connect<StatsServiceDefinition>('StatsService')),
    userData: eased(
      connect<UserDataServiceDefinition, 'ExportUserData', 'ImportUserData'>('UserDataService'),
    ),
  };
}

export function closeClients(clients: SchedulingClients): void {
  for (const client of Object.values(clients)) client.close();
}

export const newUserId = () => randomUUID();

/** An instant of RFC 3339 as messages have it. */
export const at = (time: string) => toTimestamp(new Date(time));

/** "REASON field" of the error that a call fails with. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ServiceError) return [error.reason, error.field].filter(Boolean).join(' ');
    throw error;
  }
  return 'no error';
}
