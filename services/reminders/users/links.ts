// What the links of a mail and of a calendar do, for the HTTP end.
import type { Database } from '../../platform/postgres/database.ts';
import { findEarliestMinute } from '../reminders/reminders-repository.ts';
import { hashOfLink } from './secrets.ts';
import { findUserByFeed, findUserByUnsubscribeToken, setEmailOff } from './users-repository.ts';

type FeedOwner = {
  userId: string;
  /** Time of day of the earliest reminder that is on, 0 to 1,439; undefined without one. */
  earliestMinuteOfDay: number | undefined;
};

export type Links = {
  /** The owner of the calendar with this secret. */
  findFeedOwner(secret: string): Promise<FeedOwner | undefined>;
  /** Whether a mail holds this token; changes nothing. */
  isUnsubscribeToken(token: string): Promise<boolean>;
  /** Switches off the e-mail of the user with this token, again and again alike. @returns whether there is one. */
  switchEmailOff(token: string): Promise<boolean>;
};

export function createLinks({ database, now }: { database: Database; now: () => Date }): Links {
  const findByToken = async (token: string) => {
    const tokenHash = hashOfLink(token);
    return tokenHash === undefined ? undefined : findUserByUnsubscribeToken(database, tokenHash);
  };
  return {
    async findFeedOwner(secret) {
      const feedHash = hashOfLink(secret);
      const userId = feedHash && (await findUserByFeed(database, feedHash));
      if (userId === undefined) return undefined;
      return { userId, earliestMinuteOfDay: await findEarliestMinute(database, userId) };
    },
    isUnsubscribeToken: async (token) => (await findByToken(token)) !== undefined,
    async switchEmailOff(token) {
      const userId = await findByToken(token);
      if (userId === undefined) return false;
      const off = { reason: 'unsubscribed', time: now() } as const;
      return (await setEmailOff(database, userId, off)) !== undefined;
    },
  };
}
