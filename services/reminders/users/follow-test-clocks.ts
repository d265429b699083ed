// Sandbox users have test clocks, which scheduling stores. When a clock passes the time of a reminder, its messages are made with what was
// due at that time, and are stored instead of sent.
import { isDeepStrictEqual } from 'node:util';
import { atMost, atMostPerKey } from '../../platform/concurrency.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { Now } from '../../platform/postgres/now.ts';
import { isSandboxUser, NIL_UUID } from '../../platform/uuid.ts';
import { findAddresses } from '../channels/sql.ts';
import { deliveriesOf } from '../deliveries/claim.ts';
import { type KeepOptions, keepMessages } from '../deliveries/keep.ts';
import { deleteDeliveriesBefore, insertDeliveries } from '../deliveries/sql.ts';
import type { NowOf } from '../dependencies.ts';
import type { Occurrence } from '../reminders/next-occurrence.ts';
import { nextTurn, type Reminder } from '../reminders/reminder.ts';
import { listReminders, listSandboxTurns, updateReminder } from '../reminders/sql.ts';

const DAY_MS = 86_400_000;
/** As long as deliveries are kept. If a clock moves further, only the deliveries of this last part are made. */
const MADE_MS = 90 * DAY_MS;
/** In one transaction, of at most 10 reminders. */
const MADE_AT_ONCE_MS = 10 * DAY_MS;
const ASKED_AT_ONCE = 10;

type FollowOptions = KeepOptions & { database: Database; newId: (time: Date) => string };

/** Returns a function that makes a sandbox user's deliveries up to the time of their clock, and returns that time. */
export function createFollowTestClock(options: FollowOptions): (userId: string) => Promise<Date> {
  const inTurn = atMostPerKey<string>(1);
  return (userId) =>
    inTurn(userId, async () => {
      const until = await options.peers.readTestClock(userId);
      while (await followSome(options, userId, until));
      return until;
    });
}

/** The clock of each user: a sandbox user's own, once their reminders have followed it. */
export function createNowOf(followTestClock: (userId: string) => Promise<Date>, now: Now): NowOf {
  return async (userId) => {
    if (!isSandboxUser(userId)) return now;
    const time = await followTestClock(userId);
    return () => time;
  };
}

/** @returns whether there may be more. */
async function followSome(options: FollowOptions, userId: string, until: Date): Promise<boolean> {
  const { database, peers, newId } = options;
  const user = await findFollower(database, userId);
  const account = user && (await peers.findAccounts([userId])).get(userId);
  if (user === undefined || account === undefined) return false;
  const reminders = await listReminders(database, userId);
  const from = latest(user.followTime ?? until, new Date(until.getTime() - MADE_MS));
  const to =
    reminders.length === 0 ? until : new Date(Math.min(until.getTime(), from.getTime() + MADE_AT_ONCE_MS));
  if (to < from) return false;
  const plans = reminders.map((reminder) => planOf({ ...reminder, timeZone: account.timeZone }, from, to));
  const addresses = (await findAddresses(database, [userId])).get(userId);
  const limit = atMost(ASKED_AT_ONCE);
  const made = await Promise.all(
    plans.flatMap(({ reminder, turns }) =>
      turns.map((turn) => {
        const deliveries = deliveriesOf({ ...reminder, ...turn, now: turn.time }, addresses, newId);
        const { unsubscribeToken } = user;
        return limit(() => keepMessages(options, deliveries, { account, reminder, unsubscribeToken }));
      }),
    ),
  );
  const isUnchanged = await database.transaction(async (transaction) => {
    const locked = await findFollower(transaction, userId, 'FOR UPDATE');
    if (!isDeepStrictEqual(locked, user)) return false;
    if (!isDeepStrictEqual(await listReminders(transaction, userId, 'FOR UPDATE'), reminders)) return false;
    await insertDeliveries(transaction, made.flat());
    for (const { reminder } of plans) await updateReminder(transaction, reminder);
    await storeFollowTime(transaction, userId, to);
    await deleteDeliveriesBefore(transaction, userId, new Date(to.getTime() - MADE_MS));
    return true;
  });
  return !isUnchanged || to < until;
}

const latest = (a: Date, b: Date) => (a > b ? a : b);

type Follower = {
  /** Up to when the user's reminders have taken place; null before any clock was followed. */
  followTime: Date | null;
  unsubscribeToken: Buffer;
};

/** undefined for a user of whom nothing is stored, or whose data were deleted. */
async function findFollower(
  db: Queryable,
  userId: string,
  lock: '' | 'FOR UPDATE' = '',
): Promise<Follower | undefined> {
  const [user] = await db.query<Follower>({
    text: `SELECT u.follow_time AS "followTime", u.unsubscribe_token AS "unsubscribeToken" FROM reminders.users u
           WHERE u.user_id = $1 AND u.delete_time IS NULL ${lock}`,
    values: [userId],
  });
  return user;
}

async function storeFollowTime(transaction: Queryable, userId: string, time: Date): Promise<void> {
  const text = 'UPDATE reminders.users SET follow_time = $2 WHERE user_id = $1';
  await transaction.query({ text, values: [userId, time] });
}

/** The turns of a reminder within the time, and the reminder after them. */
function planOf(reminder: Reminder, from: Date, to: Date): { reminder: Reminder; turns: Occurrence[] } {
  const turns: Occurrence[] = [];
  let after = { ...reminder, next: nextTurn(reminder, from) };
  while (after.next !== null && after.next.time <= to) {
    turns.push(after.next);
    const moved = { ...reminder, lastDate: after.next.date };
    after = { ...moved, next: nextTurn(moved, after.next.time) };
  }
  return { reminder: after, turns };
}

const LOOKED_AT = 200;

/** Returns a function that checks the clocks of the next 200 sandbox users with reminders, starting over after the last. */
export function createFollowTestClocks({
  database,
  peers,
  followTestClock,
  logger,
}: Pick<FollowOptions, 'database' | 'peers'> & {
  followTestClock: (userId: string) => Promise<Date>;
  logger: Logger;
}): () => Promise<void> {
  let after = NIL_UUID;
  /** Users whose reminders could not follow at the latest look: the log says so once. */
  const failing = new Set<string>();
  const follow = async (userId: string) => {
    try {
      await followTestClock(userId);
      failing.delete(userId);
    } catch (error) {
      if (!failing.has(userId)) logger.error({ err: error, userId }, 'reminders do not follow a test clock');
      failing.add(userId);
    }
  };
  return async () => {
    const turns = await listSandboxTurns(database, { after, limit: LOOKED_AT });
    after = turns.length < LOOKED_AT ? NIL_UUID : (turns.at(-1)?.userId ?? NIL_UUID);
    const limit = atMost(ASKED_AT_ONCE);
    await Promise.all(
      turns.map(({ userId, time }) =>
        limit(async () => {
          if ((await peers.readTestClock(userId)) >= time) await follow(userId);
        }),
      ),
    );
  };
}
