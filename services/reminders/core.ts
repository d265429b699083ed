// Assembles the part of the service behind the channels: database, migrations, handlers, gRPC, workers.
import { join } from 'node:path';
import { v7 as uuidV7 } from 'uuid';
import type { ReminderServiceHandlers } from '../../generated/reminders/v1/ReminderService.ts';
import { endsWithin } from '../platform/concurrency.ts';
import type { LocalServers } from '../platform/grpc/client.ts';
import { implement } from '../platform/grpc/handlers.ts';
import { addPeerChecks } from '../platform/grpc/peer-checks.ts';
import { type GrpcServer, startGrpcServer } from '../platform/grpc/server.ts';
import type { Logger } from '../platform/logging/logger.ts';
import { createTelemetry, type Telemetry } from '../platform/observability/telemetry.ts';
import { openServiceDatabase } from '../platform/postgres/service-database.ts';
import { watchDatabase } from '../platform/postgres/watch-database.ts';
import type { DatabaseClock } from './clock.ts';
import type { RemindersConfig } from './config.ts';
import { createDeliveryHandlers } from './deliveries/deliveries-handlers.ts';
import { createPeers, type Peers } from './peers.ts';
import { createReminderHandlers } from './reminders/reminders-handlers.ts';
import { createSubscriptionHandlers, type PushSetUp } from './subscriptions/subscriptions-handlers.ts';
import { createUserDataHandlers } from './user-data/user-data-handlers.ts';
import { createChannelsHandlers } from './users/channels-handlers.ts';
import { createEmailOffHandlers } from './users/email-off-handlers.ts';
import { createLinks, type Links } from './users/links.ts';
import { type Channels, startWorker } from './worker.ts';

/** The service's SQL schema and its migrations. */
export const remindersSchema = { schema: 'reminders', directory: join(import.meta.dirname, 'migrations') };

/** Of the time to stop, what is left for the connections after the work. */
const CLOSING_MS = 500;

type CoreOptions = {
  config: Pick<
    RemindersConfig,
    'host' | 'port' | 'trust' | 'databaseUrl' | 'databaseSessionUrl' | 'schedulingTarget' | 'accountsTarget'
  >;
  channels: Channels;
  /** Mails that are being sent, or whose outcome is being stored. Default 30. */
  mailsAtOnce?: number;
  /** Reminders that are claimed in a second, at most. Default 150. */
  remindersPerSecond?: number;
  /** undefined: push is not set up. */
  push: PushSetUp | undefined;
  /** What links begin with, without a slash at the end. */
  publicUrl: string;
  logger: Logger;
  now: () => Date;
  /** Where `now` is the database's clock: what keeps it so. */
  followClock?: DatabaseClock['follow'];
  /** From 0 to below 1. */
  random: () => number;
  randomBytes: (size: number) => Buffer;
  /** Milliseconds between two looks for reminders whose turn has come, and for messages to send. Default 1000. */
  lookMs?: number;
  /** Milliseconds between two looks for users who changed. Default 20,000. */
  followMs?: number;
  telemetry?: Telemetry;
  stopping?: AbortSignal | undefined;
  /** Services of this process, which are called without a wire. */
  locals?: LocalServers | undefined;
};

export type RemindersCore = GrpcServer & { links: Links; peers: Peers };

/**
 * Starts the service, its schema migrated. Closing it closes the channels; messages that are not sent within the time-out are
 * sent again, by another process or after the next start.
 * @throws Error if the database is unsuitable or the port is in use.
 */
export async function startCore(options: CoreOptions): Promise<RemindersCore> {
  const { config, channels, logger, now, randomBytes, telemetry = createTelemetry() } = options;
  const { trust } = config;
  const closeChannels = () => Promise.all([channels.email.close(), channels.push?.close()]);
  const database = await openServiceDatabase({
    place: config,
    schema: remindersSchema,
    logger,
    telemetry,
    stopping: options.stopping,
    // A burst fills a small table before PostgreSQL analyzes it: a kept plan would go on reading all of it for each batch.
    prepares: false,
  }).catch(async (error: unknown) => {
    await closeChannels();
    throw error;
  });
  const peers = createPeers({ ...config, telemetry, logger, locals: options.locals });
  const closePeerChecks = addPeerChecks('reminders', config, telemetry);
  let unfollowClock = () => {};
  const closeParts = async () => {
    unfollowClock();
    closePeerChecks();
    await closeChannels();
    peers.close();
    await database.close();
  };
  try {
    unfollowClock = (await options.followClock?.(database)) ?? unfollowClock;
    const newId = (time: Date) => uuidV7({ msecs: time.getTime() });
    const dependencies = { ...options, telemetry, database, peers, now, newId, randomBytes };
    const server = await startGrpcServer({
      domain: 'reminders.v1',
      host: config.host,
      port: config.port,
      trust,
      logger,
      telemetry,
      services: [
        implement<ReminderServiceHandlers>('ReminderService', {
          ...createReminderHandlers(dependencies),
          ...createChannelsHandlers(dependencies),
          ...createEmailOffHandlers(dependencies),
          ...createSubscriptionHandlers(dependencies),
          ...createDeliveryHandlers({ ...dependencies, isPushSetUp: options.push !== undefined }),
          ...createUserDataHandlers(dependencies),
        }),
      ],
    });
    const stopWatching = watchDatabase(database, server.setServing);
    const worker = startWorker(dependencies);
    const close = async (timeoutMs: number) => {
      stopWatching();
      const patienceMs = Math.max(0, timeoutMs - CLOSING_MS);
      const [hasEnded] = await Promise.all([endsWithin(worker.stop(), patienceMs), server.close(timeoutMs)]);
      if (!hasEnded) logger.warn('messages in progress are left: they are sent again when their leases end');
      await closeParts();
    };
    return { port: server.port, local: server.local, close, links: createLinks({ database, now }), peers };
  } catch (error) {
    await closeParts();
    throw error;
  }
}
