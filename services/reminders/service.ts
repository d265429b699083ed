// The whole service: the channels that the environment names, the core, and the HTTP end for links.
import { randomBytes } from 'node:crypto';
import type { LocalServers } from '../platform/grpc/client.ts';
import type { GrpcServer } from '../platform/grpc/server.ts';
import type { Logger } from '../platform/logging/logger.ts';
import { createTelemetry, type Telemetry } from '../platform/observability/telemetry.ts';
import { createFindCalendar } from './channels/calendar/find-calendar.ts';
import { createEmailChannel } from './channels/email/email-channel.ts';
import { createPushNetwork } from './channels/push/public-address.ts';
import { createPushChannel } from './channels/push/push-channel.ts';
import { subscriptionProblem } from './channels/push/subscription.ts';
import { createDatabaseClock } from './clock.ts';
import type { RemindersConfig } from './config.ts';
import { type RemindersCore, startCore } from './core.ts';
import { startHttpEnd } from './http/http-end.ts';

/** While one is sent, others are prepared or their outcome is stored. */
const MAILS_PER_CONNECTION = 3;

/** Its port is that of gRPC. */
type RemindersService = GrpcServer & { httpPort: number };

/** Starts the service, its schema migrated. @throws Error if the database is unsuitable or a port is in use. */
export async function startReminders(options: {
  config: RemindersConfig;
  logger: Logger;
  /** Default: the database's clock. */
  now?: () => Date;
  telemetry?: Telemetry;
  stopping?: AbortSignal;
  /** Services of this process, which are called without a wire. */
  locals?: LocalServers;
}): Promise<RemindersService> {
  const { config, logger, telemetry = createTelemetry(), stopping } = options;
  const clock = options.now === undefined ? createDatabaseClock(logger) : { now: options.now };
  const { now } = clock;
  const style = { appUrl: config.appUrl, showTitles: config.showTitles };
  const email = createEmailChannel({
    ...style,
    destination: config.mail,
    mailFrom: config.mailFrom,
    maxConnections: config.smtpConnections,
    now,
  });
  const push = createPush(config, { ...style, now });
  const core = await startCore({
    config,
    channels: { email, push: push?.channel },
    mailsAtOnce: MAILS_PER_CONNECTION * config.smtpConnections,
    remindersPerSecond: config.remindersPerSecond,
    push,
    publicUrl: config.publicUrl,
    logger,
    now,
    ...('follow' in clock && { followClock: clock.follow }),
    random: Math.random,
    randomBytes,
    telemetry,
    stopping,
    locals: options.locals,
  });
  try {
    const http = await startHttpEnd({
      host: config.host,
      port: config.httpPort,
      ...core.links,
      findCalendar: findCalendarOf(core, now),
      logger,
      nowMs: () => performance.now(),
      drainMs: config.drainMs,
      telemetry,
    });
    logger.info({ host: config.host, port: http.port }, 'links of reminders are ready');
    const close = async (timeoutMs: number) => {
      const endMs = performance.now() + timeoutMs;
      // Requests in progress still need the core's database and peers.
      await http.close();
      await core.close(Math.max(0, endMs - performance.now()));
    };
    return { port: core.port, local: core.local, httpPort: http.port, close };
  } catch (error) {
    await core.close(0);
    throw error;
  }
}

function createPush(
  { vapidKeys, mailFrom, pushAllowPrivate }: RemindersConfig,
  style: { appUrl: string | undefined; showTitles: boolean; now: () => Date },
) {
  if (vapidKeys === undefined) return undefined;
  const network = createPushNetwork({ allowPrivate: pushAllowPrivate });
  const [, address = mailFrom] = /<([^<>]+)>/.exec(mailFrom) ?? [];
  const channel = createPushChannel({ ...style, keys: vapidKeys, subject: `mailto:${address}`, network });
  const { publicKey } = vapidKeys;
  return {
    channel,
    publicKey,
    problemOf: (given: Parameters<typeof subscriptionProblem>[0]) => subscriptionProblem(given, network),
  };
}

function findCalendarOf({ links, peers }: RemindersCore, now: () => Date) {
  return createFindCalendar({
    findFeedOwner: links.findFeedOwner,
    findTimeZone: async (userId) => (await peers.findAccounts([userId])).get(userId)?.timeZone,
    readForecast: peers.readForecast,
    now,
  });
}
