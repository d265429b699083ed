// The reminders service with real accounts and scheduling, all over gRPC on a database of their own, with a clock that a
// test sets, and channels that end in the test.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { expect } from 'vitest';
import type { UserServiceDefinition } from '../../generated/accounts/v1/UserService.ts';
import { startAccounts } from '../../services/accounts/service.ts';
import { clientsOf } from '../../services/platform/grpc/client.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import type {
  Channel,
  Recipient,
  ReminderMessage,
  SendResult,
} from '../../services/reminders/channels/channel.ts';
import type { PushChannel } from '../../services/reminders/channels/push.ts';
import { startReminders } from '../../services/reminders/service.ts';
import { startScheduling } from '../../services/scheduling/service.ts';
import { createMigratedDatabase } from './database.ts';
import { connectReminders } from './reminders-client.ts';
import { CALL, closeClients, connectScheduling } from './scheduling.ts';

export type TestReminders = Awaited<ReturnType<typeof startTestReminders>>;
export type Handed = { message: ReminderMessage & { userId: string }; address: Recipient };

const trust = { serviceTokens: [], tls: undefined };
const common = { logLevel: 'silent', shutdownTimeoutMs: 2000, host: '127.0.0.1', port: 0, trust } as const;
/** All but where the other services are. */
export const REMINDERS_CONFIG = {
  ...common,
  httpPort: 0,
  trustedProxies: [],
  mail: { mailDir: '/nowhere' },
  mailFrom: 'reminders@example.com',
  smtpConnections: 10,
  remindersPerSecond: 150,
  publicUrl: 'https://remind.example.com',
  appUrl: undefined,
  vapidKeys: undefined,
  showTitles: true,
  pushAllowPrivate: false,
} as const;
const logger = createLogger('test', 'silent');

/** `answer` settles each message; by default it is taken. */
function createChannelEnd(parallel: number) {
  const handed: Handed[] = [];
  const end = {
    handed,
    answer: async (_: Handed): Promise<SendResult> => ({ result: 'sent' }),
  };
  const channel: Channel = {
    parallel,
    async send(message, address) {
      const given = { message: { ...message, userId: address.userId }, address };
      handed.push(given);
      return end.answer(given);
    },
    textOf: ({ dueCount, titles, isTest }) => ({
      subject: `${isTest ? 'Test: ' : ''}${dueCount} due`,
      text: titles.join(', '),
    }),
    async close() {},
  };
  return { end, channel };
}

/** Accounts and scheduling in this process, whom the reminders service asks, and clients of them. */
export async function startTestPeers(databaseUrl: string, now: () => Date) {
  const config = { ...common, databaseUrl };
  const peppers = [{ version: '1', secret: 'o'.repeat(32) }] as const;
  const accounts = await startAccounts({
    config: { ...config, peppers, keysPerHour: 5 },
    logger,
    audit: () => {},
    now,
  });
  const scheduling = await startScheduling({ config, logger, now });
  const targets = {
    schedulingTarget: `127.0.0.1:${scheduling.port}`,
    accountsTarget: `127.0.0.1:${accounts.port}`,
  };
  const accountsClient = clientsOf('accounts.v1', {
    trust,
    caller: 'test',
    deadlineMs: 30_000,
    target: targets.accountsTarget,
  });
  const users = accountsClient<UserServiceDefinition>('UserService');
  const schedulingClients = connectScheduling(scheduling.port);
  return {
    targets,
    users,
    scheduling: schedulingClients,
    async close() {
      closeClients(schedulingClients);
      users.close();
      await scheduling.close(1000);
      await accounts.close(1000);
    },
  };
}

/**
 * `time`: where the clock stands at first; it moves only when the test moves it. Each look for work costs time of the CPU, while others
 * wait too: by default the service looks often for turns and messages, and for users who changed as seldom as in operation.
 */
export async function startTestReminders(
  time: string,
  { isPushSetUp = true, lookMs = 100, followMs = 20_000 } = {},
) {
  const { databaseUrl, drop } = await createMigratedDatabase();
  let clockMs = Date.parse(time);
  const now = () => new Date(clockMs);
  const { targets, users, scheduling, close: closePeers } = await startTestPeers(databaseUrl, now);
  const mail = createChannelEnd(10);
  const push = createChannelEnd(128);
  const pushChannel: PushChannel = {
    ...push.channel,
    publicKey: 'public-key',
    problemOf: ({ endpoint }) =>
      endpoint.startsWith('https://') ? undefined : { field: 'endpoint', problem: 'must be https.' },
  };
  /** One more process's worth of the service. */
  const startAnother = () =>
    startReminders({
      config: { ...REMINDERS_CONFIG, databaseUrl, ...targets },
      channels: { email: mail.channel, push: isPushSetUp ? pushChannel : undefined },
      logger,
      now,
      random: () => 0.5,
      lookMs,
      followMs,
    });
  const service = await startAnother();
  const reminders = connectReminders(`127.0.0.1:${service.port}`);
  const sql = new Client({ connectionString: databaseUrl });
  sql.on('error', () => {});
  await sql.connect();
  return {
    databaseUrl,
    ...targets,
    sql,
    users,
    reminders,
    scheduling,
    links: service.links,
    startAnother,
    mail: mail.end,
    push: push.end,
    now,
    setClock(next: string) {
      clockMs = Date.parse(next);
    },
    /** A user of accounts whose id ends so that the spread is 0 s, with `due` materials that are due. */
    async newUser({
      timeZone = 'UTC',
      due = 1,
      sandbox = false,
    }: {
      timeZone?: string;
      due?: number;
      sandbox?: boolean;
    } = {}): Promise<string> {
      const email = `${randomBytes(8).toString('hex')}@example.com`;
      const { user } = await users.createUser({ email, firstName: 'Ada', timeZone, sandbox }, CALL);
      const userId = withoutSpread(user?.userId ?? '');
      await sql.query('UPDATE accounts.users SET user_id = $2 WHERE user_id = $1', [user?.userId, userId]);
      for (let made = 1; made <= due; made += 1)
        await scheduling.materials.createMaterial({ userId, title: `Material ${made}` }, CALL);
      return userId;
    },
    /** "state reason" of the user's deliveries, newest first. */
    async deliveries(userId: string): Promise<string[]> {
      const { deliveries } = await reminders.listDeliveries({ userId }, CALL);
      return deliveries.map(({ localDate, state, skipReason, failure }) =>
        [localDate, state.replace('DELIVERY_STATE_', ''), skipReason.replace('SKIP_REASON_', ''), failure]
          .filter((part) => part !== '' && part !== 'UNSPECIFIED')
          .join(' '),
      );
    },
    /** Resolves once the user's deliveries read so. */
    async untilDeliveries(userId: string, expected: readonly string[]): Promise<void> {
      await expect.poll(() => this.deliveries(userId)).toEqual(expected);
    },
    /** Makes pending deliveries of the user ready to be tried again, as time would. */
    async endBackoff(userId: string): Promise<void> {
      // A look that began before the clock was set would try them at that time.
      await sleep(2 * lookMs);
      await sql.query(
        `UPDATE reminders.deliveries SET attempt_time = attempt_time - interval '3 hours' WHERE user_id = $1`,
        [userId],
      );
    },
    async stop() {
      reminders.close();
      await sql.end();
      await service.close(2000);
      await closePeers();
      await drop();
    },
  };
}

/** The last eight digits become a multiple of 60. */
function withoutSpread(userId: string): string {
  const last = Number.parseInt(userId.slice(-8), 16);
  return userId.slice(0, -8) + (last - (last % 60)).toString(16).padStart(8, '0');
}
