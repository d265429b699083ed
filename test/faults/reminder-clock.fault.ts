// Promise: a clock that is set forward and back while processes send repeats no reminder. Skipped where faketime is not installed.
import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { createFakeClock, hasFakeClock } from './support/fake-clock.ts';
import { startMailServer } from './support/mail-server.ts';
import { minuteFrom, startReminding, storeUsers } from './support/reminding.ts';
import { sized } from './support/rounds.ts';
import { verify } from './support/verify.ts';

const USERS = Math.max(600, sized(2000));
/** For each message: 10 connections take longer than claiming, so that each process holds messages when its clock is set. */
const DELAY_MS = 100;
const HOUR = 3600;
/** Seconds from the machine's clock, one after the other, each at the next of as many equal parts of the messages. */
const OFFSETS = [HOUR, 0, HOUR, -HOUR, HOUR, 0];
const LONG = { timeout: 300_000, interval: 50 };

const ends: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

test.skipIf(!hasFakeClock)(
  `the clock of two processes is set by an hour ${OFFSETS.length} times while ${USERS} reminders are sent: none is repeated`,
  async () => {
    const clock = createFakeClock();
    ends.push(clock.remove);
    const mails = await startMailServer({ delayMs: DELAY_MS });
    ends.push(mails.stop);
    const { databaseUrl, drop } = await createTestDatabase();
    ends.push(drop);
    const reminding = await startReminding({
      databaseUrl,
      replicas: 2,
      environment: { SMTP_URL: mails.url, SMTP_CONNECTIONS: '5', ...clock.environment },
    });
    ends.push(reminding.stop);
    await storeUsers(reminding, { users: USERS, dueTime: minuteFrom(-1) });
    for (const [index, offset] of OFFSETS.entries()) {
      const part = Math.floor((USERS * (index + 1)) / (OFFSETS.length + 1));
      await expect.poll(() => mails.count(), LONG).toBeGreaterThanOrEqual(part);
      expect(mails.count(), 'it is set in the midst').toBeLessThan(USERS);
      clock.setOffset(offset);
    }
    await expect.poll(reminding.states, LONG).toEqual({ sent: USERS });
    expect(mails.taken()).toEqual({ recipients: USERS, doubles: 0, withSeveralIds: 0 });
    expect(await verify(databaseUrl)).toContain('0 drifted');

    // A turn comes by the database's clock: it is tomorrow's that is made to come, and not tomorrow.
    clock.setOffset(24 * HOUR + 60);
    await reminding.query(`UPDATE reminders.reminders SET next_time = next_time - interval '1 day'`);
    await expect.poll(reminding.states, LONG).toEqual({ sent: 2 * USERS });
    expect(mails.taken()).toEqual({ recipients: USERS, doubles: 0, withSeveralIds: USERS });
    const dates = await reminding.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM reminders.deliveries GROUP BY local_date`,
    );
    expect(dates.map(({ count }) => count)).toEqual([USERS, USERS]);
  },
);
