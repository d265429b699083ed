// Assembles the service: database, migrations, channels, handlers, gRPC, the loops, and the HTTP end for links.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { ReminderServiceHandlers } from '../../generated/reminders/v1/ReminderService.ts';
import { endsWithin } from '../platform/concurrency.ts';
import type { LocalServers } from '../platform/grpc/client.ts';
import { implement } from '../platform/grpc/handlers.ts';
import { addPeerChecks } from '../platform/grpc/peer-checks.ts';
import { type GrpcServer, startGrpcServer } from '../platform/grpc/server.ts';
import { startHttp } from '../platform/http/server.ts';
import type { Logger } from '../platform/logging/logger.ts';
import { createTelemetry, type Telemetry } from '../platform/observability/telemetry.ts';
import { openServiceDatabase, watchDatabase } from '../platform/postgres/service-database.ts';
import { newUuid } from '../platform/uuid.ts';
import { createChannelHandlers } from './channels/handlers.ts';
import { createLinks, type Links } from './channels/links.ts';
import { type ChannelConfig, type Channels, createChannels } from './channels/registry.ts';
import { areLinksLocal, type RemindersConfig } from './config.ts';
import { createDeliveryHandlers } from './deliveries/handlers.ts';
import { buildHttpApp } from './http.ts';
import { startLoops } from './loops.ts';
import { createPeers } from './peers.ts';
import { createReminderHandlers } from './reminders/handlers.ts';
import { createFollowTestClock, createNowOf } from './users/follow-test-clocks.ts';
import { createUserDataHandlers } from './users/handlers.ts';

/** The service's SQL schema and its migrations. */
export const remindersSchema = { schema: 'reminders', directory: join(import.meta.dirname, 'migrations') };

/** Of the time to stop, what is left for the connections after the work. */
const CLOSING_MS = 500;

type StartOptions = {
  config: RemindersConfig;
  logger: Logger;
  /** Default: the database's clock. */
  now?: () => Date;
  telemetry?: Telemetry;
  stopping?: AbortSignal | undefined;
  /** Services of this process, which are called without a wire. */
  locals?: LocalServers | undefined;
};

type CoreOptions = Omit<StartOptions, 'config'> & {
  config: Omit<
    RemindersConfig,
    'httpPort' | 'trustedProxies' | 'logLevel' | 'shutdownTimeoutMs' | keyof ChannelConfig
  >;
  channels: Channels;
  /** From 0 to below 1. Default: by chance. */
  random?: () => number;
  /** Milliseconds between two looks for reminders whose turn has come, and for messages to send. Default 1000. */
  lookMs?: number;
  /** Milliseconds between two looks for users who changed. Default 20,000. */
  followMs?: number;
};

type RemindersCore = GrpcServer & { links: Links; stopLoops: () => Promise<void> };

/**
 * Starts the service, its schema migrated. `closeHttp` ends the loops and HTTP alone; `close` ends them too, if they still run.
 * @throws Error if the database is unsuitable or a port is in use.
 */
export async function startReminders(
  options: StartOptions,
): Promise<GrpcServer & { httpPort: number; closeHttp(): Promise<void> }> {
  const { config, logger, telemetry = createTelemetry() } = options;
  const core = await startCore({ ...options, channels: createChannels(config) });
  try {
    const { host, httpPort, drainMs, trustedProxies } = config;
    const http = await startHttp(
      () => buildHttpApp({ ...core.links, logger, drainMs, trustedProxies, telemetry }),
      { host, port: httpPort },
    );
    logger.info({ host, port: http.port }, 'links of reminders are ready');
    if (areLinksLocal(config))
      logger.warn({ publicUrl: config.publicUrl }, 'the links in mails lead to this machine: set PUBLIC_URL');
    const closeHttp = async () => {
      // Nothing new is begun meanwhile.
      void core.stopLoops();
      await http.close();
    };
    const close = async (timeoutMs: number) => {
      const endMs = performance.now() + timeoutMs;
      // Requests in progress still need the core's database and peers.
      await closeHttp();
      await core.close(Math.max(0, endMs - performance.now()));
    };
    return { port: core.port, local: core.local, httpPort: http.port, closeHttp, close };
  } catch (error) {
    await core.close(0);
    throw error;
  }
}

/**
 * Starts all but the HTTP end, its schema migrated. Closing it closes the channels; messages that are not sent within the time-out
 * are sent again, by another process or after the next start.
 * @throws Error if the database is unsuitable or the port is in use.
 */
export async function startCore(options: CoreOptions): Promise<RemindersCore> {
  const { config, channels, logger, random = Math.random, telemetry = createTelemetry() } = options;
  const closeChannels = () => Promise.all(Object.values(channels).map((channel) => channel?.close()));
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
  const peers = createPeers({ ...config, telemetry, locals: options.locals });
  const closePeerChecks = addPeerChecks('reminders', config, telemetry);
  const closeParts = async () => {
    closePeerChecks();
    await closeChannels();
    peers.close();
    await database.close();
  };
  try {
    const { publicUrl, remindersPerSecond } = config;
    const parts = { database, peers, newId: newUuid, random, randomBytes };
    const working = { ...options, ...parts, telemetry, publicUrl, remindersPerSecond };
    const followTestClock = createFollowTestClock(working);
    const nowOf = createNowOf(followTestClock, options.now);
    const dependencies = { ...working, followTestClock, nowOf };
    const server = await startGrpcServer({
      domain: 'reminders.v1',
      host: config.host,
      port: config.port,
      trust: config.trust,
      logger,
      telemetry,
      services: [
        implement<ReminderServiceHandlers>('ReminderService', {
          ...createReminderHandlers(dependencies),
          ...createChannelHandlers(dependencies),
          ...createDeliveryHandlers(dependencies),
          ...createUserDataHandlers(dependencies),
        }),
      ],
    });
    const stopWatching = watchDatabase(database, server.setServing);
    const loops = startLoops(dependencies);
    const close = async (timeoutMs: number) => {
      stopWatching();
      const patienceMs = Math.max(0, timeoutMs - CLOSING_MS);
      const [hasEnded] = await Promise.all([endsWithin(loops.stop(), patienceMs), server.close(timeoutMs)]);
      if (!hasEnded) logger.warn('messages in progress are left: they are sent again when their leases end');
      await closeParts();
    };
    const { port, local } = server;
    return { port, local, close, stopLoops: loops.stop, links: createLinks(dependencies) };
  } catch (error) {
    await closeParts();
    throw error;
  }
}
