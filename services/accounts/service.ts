// Assembles the accounts service: database, migrations, peppers, revocations, handlers, gRPC.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { ApiKeyServiceHandlers } from '../../generated/accounts/v1/ApiKeyService.ts';
import type { UserEventServiceHandlers } from '../../generated/accounts/v1/UserEventService.ts';
import type { UserServiceHandlers } from '../../generated/accounts/v1/UserService.ts';
import { ok, requireGood, warning } from '../platform/checks.ts';
import { implement } from '../platform/grpc/handlers.ts';
import { type GrpcServer, startGrpcServer } from '../platform/grpc/server.ts';
import type { Audit, Logger } from '../platform/logging/logger.ts';
import { createTelemetry, type Telemetry } from '../platform/observability/telemetry.ts';
import {
  deleteOldest,
  openServiceDatabase,
  sessionUrl,
  sweepRegularly,
  watchDatabase,
} from '../platform/postgres/service-database.ts';
import { newUuid } from '../platform/uuid.ts';
import type { AccountsConfig } from './config.ts';
import { createUserEventHandlers } from './events/handlers.ts';
import { createApiKeyHandlers } from './keys/handlers.ts';
import { deleteOldKeyRequests, KEPT_DAYS } from './keys/requests-sql.ts';
import { pepperCheck, storeNewPeppers } from './keys/sql.ts';
import { createRevocations } from './revocations.ts';
import { createUserHandlers } from './users/handlers.ts';

const DAY_MS = 86_400_000;

/** How long events are kept, and how often the older ones are deleted. */
const EVENT_SWEEP = {
  task: 'erase-user-events',
  failure: 'could not delete old events of users',
  everyMs: 3_600_000,
  lifetimeMs: 90 * DAY_MS,
};
const REQUEST_SWEEP = {
  task: 'erase-key-requests',
  failure: 'could not delete old requests of keys',
  everyMs: 3_600_000,
  lifetimeMs: KEPT_DAYS * DAY_MS,
};

/** The service's SQL schema and its migrations. */
export const accountsSchema = { schema: 'accounts', directory: join(import.meta.dirname, 'migrations') };

/** Starts the service, its schema migrated. @throws Error if the database or a pepper is unsuitable, or the port is in use. */
export async function startAccounts(options: {
  config: AccountsConfig;
  logger: Logger;
  audit: Audit;
  /** Default: this machine's clock, and for changes of users the database's. */
  now?: () => Date;
  telemetry?: Telemetry;
  stopping?: AbortSignal;
}): Promise<GrpcServer> {
  const { config, logger, audit, now = () => new Date(), telemetry = createTelemetry(), stopping } = options;
  const { keysPerHour } = config;
  const [newestPepper, ...olderPeppers] = config.peppers;
  if (newestPepper === undefined) throw new Error('KEY_PEPPER is not set');
  const peppers = [newestPepper, ...olderPeppers] as const;
  const database = await openServiceDatabase({
    place: config,
    schema: accountsSchema,
    logger,
    telemetry,
    stopping,
  });
  let closeRevocations = async () => {};
  try {
    await storeNewPeppers(database, peppers);
    await requireGood('KEY_PEPPER cannot be used', peppers.map(pepperCheck), database);
    const revocations = createRevocations({ databaseUrl: sessionUrl(config), logger });
    closeRevocations = revocations.close;
    telemetry.readiness.add({
      name: 'accounts/revocations',
      run: () =>
        revocations.isListening()
          ? ok('revocations arrive')
          : warning('no revocation stream: rest checks every key with accounts', 'read the log of accounts'),
    });
    const users = { database, now, changeNow: options.now, newId: newUuid, audit };
    const keys = { ...users, peppers, keysPerHour, randomBytes, revocations, logger };
    const server = await startGrpcServer({
      domain: 'accounts.v1',
      host: config.host,
      port: config.port,
      trust: config.trust,
      logger,
      telemetry,
      services: [
        implement<UserServiceHandlers>('UserService', createUserHandlers(users)),
        implement<ApiKeyServiceHandlers>('ApiKeyService', createApiKeyHandlers(keys)),
        implement<UserEventServiceHandlers>('UserEventService', createUserEventHandlers(users)),
      ],
    });
    const stopWatching = watchDatabase(database, server.setServing);
    const sweeps = [
      sweepRegularly(EVENT_SWEEP, { now, logger, telemetry }, (before) =>
        deleteOldest(database, { table: 'accounts.user_events', column: 'event_time', before }),
      ),
      sweepRegularly(REQUEST_SWEEP, { now, logger, telemetry }, (before) =>
        deleteOldKeyRequests(database, before),
      ),
    ];
    const close = async (timeoutMs: number) => {
      stopWatching();
      for (const stopSweeping of sweeps) stopSweeping();
      // Ends the streams first, since they never end by themselves.
      await closeRevocations();
      await server.close(timeoutMs);
      await database.close();
    };
    return { port: server.port, local: server.local, close };
  } catch (error) {
    await closeRevocations();
    await database.close();
    throw error;
  }
}
