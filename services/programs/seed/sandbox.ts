// A sandbox learner with a month of history, which is made by moving their clock and calling the rpcs, not by back-dated rows.
import { randomBytes } from 'node:crypto';
import { type Clients, closeClients, createClients } from '../../../gateway/clients.ts';
import { toTimestamp } from '../../platform/instants.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import { createTelemetry } from '../../platform/observability/telemetry.ts';
import { type Database, openDatabase } from '../../platform/postgres/database.ts';
import { newSandboxUserId, newUuid } from '../../platform/uuid.ts';
import { createEmailChannel } from '../../reminders/channels/email.ts';
import { createPeers, type Peers } from '../../reminders/peers.ts';
import { createFollowTestClock } from '../../reminders/users/follow-test-clocks.ts';
import { startScheduling } from '../../scheduling/service.ts';
import { drawGrade } from './learner.ts';
import { makeShownReminder } from './reminders.ts';
import { newName, newTexts } from './texts.ts';
import type { Learner } from './write.ts';

const DAYS = 30;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** In the first days. */
const NEW_A_DAY = 3;
const DAYS_WITH_NEW = 7;
const RECALL = 0.88;
/** Days on which the learner does something else than review all that is due. */
const IDLE_DAYS = [12, 13, 21];
const SNOOZE_DAY = 5;
const CATCH_UP_DAY = 14;
const UNDO_DAY = 9;
const TIME_ZONE = 'Europe/Berlin';

/** An account with a reminder at 08:00; all else is done by `liveMonth`. */
export function makeSandboxLearner(email: string): Learner {
  const now = new Date();
  const userId = newSandboxUserId(now);
  const account = { userId, email, timeZone: TIME_ZONE, createTime: now, updateTime: now };
  return {
    user: { ...account, ...newName(), plan: 'free' },
    reminders: [makeShownReminder(account, now)],
    deliveries: [],
    materials: [],
    userEvents: [],
    keys: [],
    requests: { counts: [], refused: [] },
    emailOff: null,
    unsubscribeToken: randomBytes(32),
  };
}

/** Moves the learner's clock from evening to evening, and does what a learner does. */
export async function liveMonth(learner: Learner, databaseUrl: string, logger: Logger): Promise<void> {
  // Nobody else is to call the service meanwhile.
  const trust = { serviceTokens: [randomBytes(16).toString('hex')], tls: undefined };
  const config = {
    host: '127.0.0.1',
    port: 0,
    trust,
    databaseUrl,
    logLevel: 'warn',
    shutdownTimeoutMs: 1000,
  } as const;
  const scheduling = await startScheduling({ config, logger, isPatient: true });
  const target = `127.0.0.1:${scheduling.port}`;
  const targets = { schedulingTarget: target, accountsTarget: target, trust };
  const locals = { 'scheduling.v1': scheduling.local };
  const telemetry = createTelemetry();
  const clients = createClients(targets, telemetry, locals);
  const peers = createPeers({ ...targets, telemetry, deadlineMs: PATIENT_MS, locals });
  const database = openDatabase({
    databaseUrl,
    applicationName: 'seed',
    maxConnections: 2,
    isPatient: true,
    logger,
  });
  try {
    await live(learner, { clients, followTestClock: createFollow(learner, { database, peers }) });
  } finally {
    await database.close();
    peers.close();
    closeClients(clients);
    await scheduling.close(1000);
  }
}

/** Follows the clock as the reminders service does, which need not run. */
function createFollow({ user }: Learner, { database, peers }: { database: Database; peers: Peers }) {
  const account = { ...user, firstName: user.firstName ?? '' };
  const settings = { mail: { mailDir: 'unused' }, mailFrom: 'reminders@localhost', smtpConnections: 1 };
  return createFollowTestClock({
    database,
    peers: { ...peers, findAccounts: async () => new Map([[user.userId, account]]) },
    channels: { email: createEmailChannel({ ...settings, appUrl: undefined, showTitles: true }) },
    publicUrl: 'http://127.0.0.1:8090',
    newId: newUuid,
  });
}

async function live(
  { user: { userId, createTime } }: Learner,
  { clients, followTestClock }: { clients: Clients; followTestClock: (userId: string) => Promise<unknown> },
): Promise<void> {
  const { learners, materials, reviews, snoozes } = clients;
  const todayMs = Math.floor(createTime.getTime() / DAY_MS) * DAY_MS;
  await followTestClock(userId);
  for (let day = 1; day <= DAYS; day += 1) {
    const time = new Date(todayMs + day * DAY_MS + Math.floor((16 + 4 * Math.random()) * HOUR_MS));
    await learners.setTestClock({ userId, time: toTimestamp(time) }, CALL);
    await followTestClock(userId);
    for (let made = 0; day <= DAYS_WITH_NEW && made < NEW_A_DAY; made += 1) {
      const { title, label } = newTexts();
      await materials.createMaterial(
        { userId, title, labels: [label], type: 'MATERIAL_TYPE_FLASHCARD' },
        CALL,
      );
    }
    if (IDLE_DAYS.includes(day)) continue;
    if (day === CATCH_UP_DAY) {
      await snoozes.spreadBacklog({ userId, timeZone: TIME_ZONE, days: 3 }, CALL);
      continue;
    }
    const { materials: due } = await materials.listDueMaterials({ userId, pageSize: 100 }, CALL);
    const [first, ...others] = due;
    if (first === undefined) continue;
    if (day === SNOOZE_DAY) {
      const tomorrow = { preset: 'SNOOZE_PRESET_TOMORROW', timeZone: TIME_ZONE } as const;
      await snoozes.snoozeMaterials({ userId, materialIds: [first.materialId], ...tomorrow }, CALL);
    }
    for (const { materialId } of day === SNOOZE_DAY ? others : due) {
      const quality = drawGrade(RECALL);
      const { review } = await reviews.submitReview({ userId, materialId, quality }, CALL);
      if (day === UNDO_DAY && materialId === first.materialId)
        await reviews.undoReview({ userId, reviewId: review?.reviewId ?? '' }, CALL);
    }
  }
}

/** Long, since a busy machine can stall for seconds. */
const PATIENT_MS = 60_000;
const CALL = { requestId: 'seed', deadlineMs: PATIENT_MS };
