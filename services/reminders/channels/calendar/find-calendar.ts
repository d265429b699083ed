// The calendar behind a secret address: whose it is, where they live, and what is due there.
import type { Peers } from '../../peers.ts';
import type { Links } from '../../users/links.ts';
import { type CalendarFeed, calendarFeed, toCalendarDays } from './calendar-feed.ts';

/** Days of a calendar, today included. */
const CALENDAR_DAYS = 30;

type CalendarSources = Pick<Links, 'findFeedOwner'> &
  Pick<Peers, 'readForecast'> & {
    /** IANA name; undefined for a user whom accounts does not know. */
    findTimeZone(userId: string): Promise<string | undefined>;
    now: () => Date;
  };

/** Returns a function from a secret to the calendar; undefined for an unknown one. */
export function createFindCalendar({ findFeedOwner, findTimeZone, readForecast, now }: CalendarSources) {
  return async (secret: string): Promise<CalendarFeed | undefined> => {
    const owner = await findFeedOwner(secret);
    const timeZone = owner && (await findTimeZone(owner.userId));
    if (owner === undefined || timeZone === undefined) return undefined;
    const { userId, earliestMinuteOfDay: minuteOfDay } = owner;
    // One instant for both, so that the days of the forecast begin with the calendar's today.
    const asOf = now();
    const forecast = await readForecast({ userId, timeZone, days: CALENDAR_DAYS, asOf });
    return calendarFeed({ userId, timeZone, days: toCalendarDays(forecast), minuteOfDay, now: asOf });
  };
}
