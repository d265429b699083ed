// Assembles the scheduling service: database, migrations, handlers, gRPC.

import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { LearnerServiceHandlers } from '../../generated/scheduling/v1/LearnerService.ts';
import type { MaterialServiceHandlers } from '../../generated/scheduling/v1/MaterialService.ts';
import type { ReviewServiceHandlers } from '../../generated/scheduling/v1/ReviewService.ts';
import type { SnoozeServiceHandlers } from '../../generated/scheduling/v1/SnoozeService.ts';
import type { StatsServiceHandlers } from '../../generated/scheduling/v1/StatsService.ts';
import type { UserDataServiceHandlers } from '../../generated/scheduling/v1/UserDataService.ts';
import { implement } from '../platform/grpc/handlers.ts';
import { type GrpcServer, startGrpcServer } from '../platform/grpc/server.ts';
import type { Logger } from '../platform/logging/logger.ts';
import { createTelemetry, type Telemetry } from '../platform/observability/telemetry.ts';
import {
  openServiceDatabase,
  sessionUrl,
  sweepRegularly,
  watchDatabase,
} from '../platform/postgres/service-database.ts';
import type { DatabaseServiceConfig } from '../platform/process/common-config.ts';
import { newUuid } from '../platform/uuid.ts';
import { createBackground, withPriority } from './background.ts';
import { createNow, machineTime } from './clock.ts';
import { countRegularly } from './count-learners.ts';
import { isDistributed } from './distribute.ts';
import { gatheredOn } from './gathered.ts';
import { deleteOldIdempotencyRecords, REQUEST_ID_LIFETIME_MS } from './idempotency.ts';
import { createLearnerHandlers } from './learners/handlers.ts';
import { createMaterialHandlers } from './materials/handlers.ts';
import { createReviewHandlers } from './reviews/handlers.ts';
import { createSnoozeHandlers } from './snoozes/handlers.ts';
import { createStatsHandlers } from './statistics/handlers.ts';
import { trainRegularly } from './train-learners.ts';
import { createUserDataHandlers } from './user-data/handlers.ts';
import { createImportHandlers } from './user-data/import-handlers.ts';

const SWEEP = {
  task: 'erase-request-ids',
  failure: 'could not delete old request ids',
  everyMs: 600_000,
  lifetimeMs: REQUEST_ID_LIFETIME_MS,
};

/** The service's SQL schema and its migrations. */
export const schedulingSchema = {
  schema: 'scheduling',
  directory: join(import.meta.dirname, 'migrations'),
};

/** Starts the service, its schema migrated. @throws Error if the database is unsuitable or the port is in use. */
export async function startScheduling(options: {
  config: DatabaseServiceConfig;
  logger: Logger;
  /** Default: this machine's clock. */
  now?: () => Date;
  telemetry?: Telemetry;
  /** Of the database, as in `openDatabase`. Default false. */
  isPatient?: boolean;
  stopping?: AbortSignal;
}): Promise<GrpcServer> {
  const {
    config,
    logger,
    now = machineTime,
    telemetry = createTelemetry(),
    isPatient = false,
    stopping,
  } = options;
  // By default V8 lets the heap grow to three times its live size before it collects: over 100 MB after an import.
  setFlagsFromString('--heap-growing-percent=100');
  const database = await openServiceDatabase({
    place: config,
    schema: schedulingSchema,
    logger,
    telemetry,
    isPatient,
    stopping,
  });
  try {
    const shape = { isDistributed: await isDistributed(database) };
    const background = createBackground();
    const dependencies = {
      database,
      background,
      gathered: gatheredOn(database, shape),
      now: createNow(database, now),
      wallClock: now,
      newId: newUuid,
      ...shape,
    };
    const server = await startGrpcServer({
      domain: 'scheduling.v1',
      host: config.host,
      port: config.port,
      trust: config.trust,
      logger,
      telemetry,
      services: [
        implement<MaterialServiceHandlers>('MaterialService', createMaterialHandlers(dependencies)),
        implement<ReviewServiceHandlers>('ReviewService', createReviewHandlers(dependencies)),
        implement<SnoozeServiceHandlers>('SnoozeService', createSnoozeHandlers(dependencies)),
        implement<StatsServiceHandlers>('StatsService', createStatsHandlers(dependencies)),
        implement<LearnerServiceHandlers>('LearnerService', createLearnerHandlers(dependencies)),
        implement<UserDataServiceHandlers>('UserDataService', {
          ...createUserDataHandlers(dependencies),
          ...createImportHandlers(dependencies),
        }),
      ].map((service) => withPriority(service, background)),
    });
    const stopWatching = watchDatabase(database, server.setServing);
    const stopSweeping = sweepRegularly(SWEEP, { now, logger, telemetry }, (before) =>
      deleteOldIdempotencyRecords(database, before),
    );
    const stopCounting = countRegularly(database, { now, logger, telemetry });
    const stopTraining = trainRegularly(database, sessionUrl(config), { logger, telemetry });
    const close = async (timeoutMs: number) => {
      stopWatching();
      stopSweeping();
      stopCounting();
      stopTraining();
      await server.close(timeoutMs);
      await database.close();
    };
    return { port: server.port, local: server.local, close };
  } catch (error) {
    await database.close();
    throw error;
  }
}
