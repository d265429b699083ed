// Assembles the service: database, migrations, channels, handlers, gRPC, the loops, and the HTTP end for links.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { ReminderServiceHandlers } from '../../generated/reminders/v1/ReminderService.ts';
import { endsWithin } from '../platform/concurrency.ts';
import type { LocalServers } from '../platform/grpc/client.ts';
import { implement } from '../platform/grpc/handlers.ts';
import { addPeerChecks } from '../platform/grpc/peer-checks.ts';
import { startGrpcServer } from '../platform/grpc/server.ts';
import { startHttp } from '../platform/http/server.ts';
import type { Logger } from '../platform/logging/logger.ts';
import { createTelemetry, type Telemetry } from '../platform/observability/telemetry.ts';
import { openServiceDatabase, watchDatabase } from '../platform/postgres/service-database.ts';
import { newUuid } from '../platform/uuid.ts';
import { createChannelHandlers } from './channels/handlers.ts';
import { createLinks } from './channels/links.ts';
import { type Channels, createChannels } from './channels/registry.ts';
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

/** The part of the shutdown time that is reserved for closing connections, after the loops. */
const CLOSING_MS = 500;

/**
 * Migrates the schema and starts the service. `closeHttp` stops only the loops and HTTP; `close` stops everything. Messages that are not
 * sent by then are sent by another process, or after the next start. `links`: the functions behind the HTTP routes.
 * @throws Error if the database is unsuitable or a port is in use; then nothing is left open.
 */
export async function startReminders(options: {
  config: RemindersConfig;
  logger: Logger;
  /** Default: the database's clock. */
  now?: () => Date;
  telemetry?: Telemetry;
  stopping?: AbortSignal | undefined;
  /** Services that run in this process; calls to them bypass the network. */
  locals?: LocalServers | undefined;
  /** Default: those that the configuration sets up. */
  channels?: Channels;
  /** From 0 to below 1. Default: by chance. */
  random?: () => number;
  /** Milliseconds between two looks for reminders whose turn has come, and for messages to send. Default 1000. */
  lookMs?: number;
  /** Milliseconds between two looks for users who changed. Default 20,000. */
  followMs?: number;
}) {
  const { config, logger, random = Math.random, telemetry = createTelemetry() } = options;
  const { host, port, httpPort, trust, drainMs, trustedProxies, publicUrl, remindersPerSecond } = config;
  const { channels = createChannels(config) } = options;
  const closeChannels = () => Promise.all(Object.values(channels).map((channel) => channel?.close()));
  const database = await openServiceDatabase({
    place: config,
    schema: remindersSchema,
    logger,
    telemetry,
    stopping: options.stopping,
    // A burst fills a small table before PostgreSQL analyzes it: a cached plan would then scan all of it for each batch.
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
    const parts = { database, peers, channels, newId: newUuid, random, randomBytes };
    const working = { ...options, ...parts, telemetry, publicUrl, remindersPerSecond };
    const followTestClock = createFollowTestClock(working);
    const nowOf = createNowOf(followTestClock, options.now);
    const dependencies = { ...working, followTestClock, nowOf };
    const links = createLinks(dependencies);
    const server = await startGrpcServer({
      domain: 'reminders.v1',
      host,
      port,
      trust,
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
    const http = await startHttp(
      () => buildHttpApp({ ...links, logger, drainMs, trustedProxies, telemetry }),
      { host, port: httpPort },
    ).catch(async (error: unknown) => {
      await server.close(0);
      throw error;
    });
    logger.info({ host, port: http.port }, 'links of reminders are ready');
    if (areLinksLocal(config))
      logger.warn({ publicUrl }, 'the links in mails lead to this machine: set PUBLIC_URL');
    const stopWatching = watchDatabase(database, server.setServing);
    const loops = startLoops(dependencies);
    const closeHttp = async () => {
      // Nothing new is begun meanwhile.
      void loops.stop();
      await http.close();
    };
    const close = async (timeoutMs: number) => {
      const endMs = performance.now() + timeoutMs;
      // Requests in progress still need the database and the peers.
      await closeHttp();
      stopWatching();
      const leftMs = Math.max(0, endMs - performance.now());
      const patienceMs = Math.max(0, leftMs - CLOSING_MS);
      const [hasEnded] = await Promise.all([endsWithin(loops.stop(), patienceMs), server.close(leftMs)]);
      if (!hasEnded) logger.warn('messages in progress are sent again when their leases end');
      await closeParts();
    };
    return { port: server.port, local: server.local, httpPort: http.port, links, closeHttp, close };
  } catch (error) {
    await closeParts();
    throw error;
  }
}
