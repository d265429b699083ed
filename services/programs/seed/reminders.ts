// Gives some learners reminders as people would set them, and deliveries of the last days.
import { newUuid } from '../../platform/uuid.ts';
import { NO_SUBSCRIPTION } from '../../reminders/channels/registry.ts';
import type { Delivery } from '../../reminders/deliveries/delivery.ts';
import { nextTurn, type Reminder, type ReminderSettings } from '../../reminders/reminders/reminder.ts';

const DAY_MS = 86_400_000;
const EVERY_DAY = [1, 2, 3, 4, 5, 6, 7];
const WORKDAYS = [1, 2, 3, 4, 5];
const WEEKEND = [6, 7];
/** Shares of learners, and of reminders. */
const WITH_REMINDERS = 0.5;
const WITH_A_SECOND = 0.2;
const OFF = 0.1;
const PAUSED = 0.05;
const ALSO_BY_PUSH = 0.15;
/** What of the past is made. */
const HISTORY_DAYS = 30;
/** Occurrences of these are left to a service that runs. */
const LATEST_MS = 5 * 60_000;

/** The learner to look at: one that works. */
const SHOWN: ReminderSettings = {
  minuteOfDay: 8 * 60,
  weekdays: EVERY_DAY,
  channels: ['email'],
  minDue: 1,
  onlyIfNotReviewedToday: false,
  pausedUntilTime: null,
  labels: [],
  isEnabled: true,
};

/** The one that works, from now on. */
export function makeShownReminder(
  { userId, timeZone }: { userId: string; timeZone: string },
  now: Date,
): Reminder {
  const owned = { ...SHOWN, userId, timeZone, reminderId: newUuid(now), lastDate: null };
  return { ...owned, next: nextTurn(owned, now), createTime: now, updateTime: now };
}

/**
 * None for about half of the learners, else one or two, with their deliveries by e-mail; `isShown`: one that is on.
 * @throws RangeError for an unknown time zone.
 */
export function makeReminders(
  { userId, timeZone, isShown }: { userId: string; timeZone: string; isShown: boolean },
  now: Date,
): { reminders: Reminder[]; deliveries: Delivery[] } {
  if (!isShown && Math.random() >= WITH_REMINDERS) return { reminders: [], deliveries: [] };
  const all = isShown
    ? [SHOWN]
    : Math.random() < WITH_A_SECOND
      ? [drawSettings(WORKDAYS), drawSettings(WEEKEND)]
      : [drawSettings(Math.random() < 0.3 ? WORKDAYS : EVERY_DAY)];
  const made = all.map((settings) => {
    const isPaused = !isShown && Math.random() < PAUSED;
    const createTime = new Date(now.getTime() - HISTORY_DAYS * DAY_MS);
    const owned = { ...settings, userId, timeZone, reminderId: newUuid(createTime) };
    const failsOnTuesday = isShown ? 1 : 0.6;
    const deliveries = settings.isEnabled ? makeDeliveries(owned, createTime, failsOnTuesday, now) : [];
    const lastDate = deliveries.at(-1)?.localDate ?? null;
    const reminder: Reminder = {
      ...owned,
      lastDate,
      pausedUntilTime: isPaused ? new Date(now.getTime() + Math.ceil(14 * Math.random()) * DAY_MS) : null,
      next: nextTurn({ ...owned, lastDate }, now),
      createTime,
      updateTime: createTime,
    };
    return { reminder, deliveries };
  });
  return {
    reminders: made.map(({ reminder }) => reminder),
    deliveries: made.flatMap(({ deliveries }) => deliveries),
  };
}

/** One for each occurrence, oldest first. */
function makeDeliveries(
  reminder: ReminderSettings & { userId: string; timeZone: string; reminderId: string },
  from: Date,
  failsOnTuesday: number,
  now: Date,
): Delivery[] {
  const deliveries: Delivery[] = [];
  for (let lastDate: string | null = null; ; ) {
    const turn = nextTurn({ ...reminder, lastDate }, deliveries.at(-1)?.dueTime ?? from);
    if (turn === null || turn.time.getTime() > now.getTime() - LATEST_MS) return deliveries;
    const { userId, reminderId } = reminder;
    const updateTime = new Date(turn.time.getTime() + 1000 + Math.floor(2000 * Math.random()));
    deliveries.push({
      userId,
      reminderId,
      deliveryId: newUuid(turn.time),
      localDate: turn.date,
      channel: 'email',
      subscriptionId: NO_SUBSCRIPTION,
      isTest: false,
      ...drawOutcome(reminder, turn.date, failsOnTuesday),
      keptSubject: null,
      keptText: null,
      dueTime: turn.time,
      createTime: turn.time,
      updateTime,
    });
    lastDate = turn.date;
  }
}

type DrawnOutcome = Pick<Delivery, 'state' | 'skipReason' | 'failure' | 'attempts'>;
const SENT: DrawnOutcome = { state: 'sent', skipReason: null, failure: null, attempts: 1 };
const FAILED: DrawnOutcome = {
  state: 'failed',
  skipReason: null,
  failure: 'The mail server could not be reached (ECONNREFUSED). Sending was given up after 9 attempts.',
  attempts: 9,
};
const skipped = (skipReason: 'nothing due' | 'already reviewed'): DrawnOutcome => ({
  state: 'skipped',
  skipReason,
  failure: null,
  attempts: 0,
});

/** Mostly sent. On some Tuesdays the mail server was unavailable. */
function drawOutcome(
  { onlyIfNotReviewedToday }: ReminderSettings,
  date: string,
  failsOnTuesday: number,
): DrawnOutcome {
  const isTuesday = new Date(`${date}T00:00:00Z`).getUTCDay() === 2;
  const luck = Math.random();
  if (luck < (isTuesday ? failsOnTuesday : 0.01)) return FAILED;
  if (luck > 0.92) return skipped('nothing due');
  return onlyIfNotReviewedToday && luck > 0.7 ? skipped('already reviewed') : SENT;
}

/** In the morning or in the evening, mostly at the full or half hour. */
function drawSettings(weekdays: number[]): ReminderSettings {
  const pick = <T>(values: readonly [T, ...T[]]): T =>
    values[Math.floor(Math.random() * values.length)] ?? values[0];
  const hour = pick([6, 7, 7, 8, 8, 9, 12, 17, 18, 19, 19, 20, 21]);
  return {
    minuteOfDay: hour * 60 + pick([0, 0, 0, 0, 15, 30, 30, 45]),
    weekdays,
    channels: Math.random() < ALSO_BY_PUSH ? ['email', 'push'] : ['email'],
    minDue: pick([1, 1, 1, 5, 10, 20]),
    labels: [],
    onlyIfNotReviewedToday: Math.random() < 0.3,
    pausedUntilTime: null,
    isEnabled: Math.random() >= OFF,
  };
}
