// What the links of a mail and of a calendar do, for the HTTP end. A link holds 32 bytes in base64url, which are looked up by their
// SHA-256.
import { hash } from 'node:crypto';
import type { Logger } from '../../platform/logging/logger.ts';
import type { Dependencies } from '../dependencies.ts';
import { CALENDAR_DAYS, type CalendarFeed, calendarFeed, toCalendarDays } from './calendar.ts';
import { endUnsubscription, findFeedOwner, findUserByUnsubscribeToken, setEmailOff } from './sql.ts';

/** Bytes of an unsubscribe token and of a feed's secret. */
export const SECRET_BYTES = 32;

export function hashOfSecret(secret: Buffer): Buffer {
  return hash('sha256', secret, 'buffer');
}

export type Links = ReturnType<typeof createLinks>;

export function createLinks({
  database,
  peers,
  now,
  nowOf,
  logger,
}: Pick<Dependencies, 'database' | 'peers' | 'now' | 'nowOf'> & { logger: Logger }) {
  const findByToken = async (token: string) => {
    const tokenHash = hashOfLink(token);
    return tokenHash && findUserByUnsubscribeToken(database, tokenHash);
  };
  return {
    /** The calendar with this secret; undefined for an unknown one. */
    async findCalendar(secret: string): Promise<CalendarFeed | undefined> {
      const feedHash = hashOfLink(secret);
      const owner = feedHash && (await findFeedOwner(database, feedHash, now));
      if (owner === undefined) return undefined;
      const { userId, earliestMinuteOfDay } = owner;
      const asOf = (await nowOf(userId))?.() ?? owner.now;
      const timeZone = (await peers.findAccounts([userId])).get(userId)?.timeZone;
      if (timeZone === undefined) return undefined;
      // One instant for both, so that the days of the forecast begin with the calendar's today.
      const forecast = await peers.readForecast(userId, timeZone, CALENDAR_DAYS, asOf);
      const minuteOfDay = earliestMinuteOfDay ?? undefined;
      return calendarFeed({ userId, timeZone, days: toCalendarDays(forecast), minuteOfDay, now: asOf });
    },
    /** Whether a mail holds this token; changes nothing. */
    isUnsubscribeToken: async (token: string) => (await findByToken(token)) !== undefined,
    /** Switches off the e-mail of the user with this token, again and again alike. @returns whether there is one. */
    async switchEmailOff(token: string) {
      const userId = await findByToken(token);
      if (userId === undefined) return false;
      const user = await setEmailOff(database, userId, 'unsubscribed', now);
      // After a restore, the log alone says who unsubscribed since the dump.
      if (user !== undefined) logger.info({ userId }, 'e-mail switched off by the link in a mail');
      return user !== undefined;
    },
    /**
     * Switches the e-mail of the user with this token on again, if it is off by `switchEmailOff`; again and again alike.
     * @returns whether it is on then; undefined if there is no such user.
     */
    async switchEmailOn(token: string) {
      const userId = await findByToken(token);
      if (userId === undefined) return undefined;
      const user = await endUnsubscription(database, userId);
      if (user?.emailOffReason === null) logger.info({ userId }, 'e-mail switched on by the link in a mail');
      return user && user.emailOffReason === null;
    },
  };
}

/** The hash of the secret in a link; undefined if the text cannot be one. */
function hashOfLink(text: string): Buffer | undefined {
  const secret = Buffer.from(text, 'base64url');
  const isSecret = secret.length === SECRET_BYTES && secret.toString('base64url') === text;
  return isSecret ? hashOfSecret(secret) : undefined;
}
