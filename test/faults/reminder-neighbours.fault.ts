// Promise: a mail server that is slow, refuses or hangs does not hold up push messages, nor a bad push service mails; and push
// messages wait for a bad push service for no longer than its time-out.
import { afterAll, expect, test } from 'vitest';
import { makeVapidKeys } from '../../services/reminders/channels/vapid-keys.ts';
import { makeCertificates } from '../support/certificates.ts';
import { createTestDatabase } from '../support/database.ts';
import { type MailMood, startMoodyMailServer, startPushEnds } from './support/bad-ends.ts';
import { recordFigure } from './support/figures.ts';
import { minuteFrom, startReminding, storeUsers } from './support/reminding.ts';
import { ROUNDS, sized } from './support/rounds.ts';

const ROUNDS_OF_EACH = sized(5);
/** The turns of a round come evenly over it. Longer than push services have to answer, but in the short form. */
const ROUND_MS = ROUNDS < 20 ? 3000 : 12_000;
/** By push and by e-mail each. */
const GOOD = ROUND_MS / 40;
/** At each of the other ends. */
const OTHERS = ROUND_MS / 100;
const DAY_MINUTES = 24 * 60;
const LONG = { timeout: 60_000, interval: 250 };

const ends: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

test(`${GOOD} mails and push messages are in time beside mail servers and push services that are slow, refuse, hang or redirect`, async () => {
  const { databaseUrl, drop } = await createTestDatabase();
  ends.push(drop);
  const certificates = makeCertificates();
  ends.push(certificates.remove);
  const pushEnds = await startPushEnds(certificates);
  ends.push(pushEnds.stop);
  const mailServer = await startMoodyMailServer();
  ends.push(mailServer.stop);
  const reminding = await startReminding({
    databaseUrl,
    replicas: 1,
    environment: {
      SMTP_URL: mailServer.url,
      VAPID_KEYS: makeVapidKeys(),
      PUSH_ALLOW_PRIVATE: 'on',
      NODE_EXTRA_CA_CERTS: certificates.environment.GRPC_TLS_CA,
    },
  });
  ends.push(reminding.stop);
  const { query } = reminding;

  type Users = { users: number; endpoint?: string; mailDomain?: string };
  /** Their turns begin at once. @returns the IDs of each. */
  const store = async (groups: readonly Users[]) => {
    const stored: string[][] = [];
    for (const group of groups)
      stored.push(await storeUsers(reminding, { ...group, dueTime: minuteFrom(DAY_MINUTES) }));
    await query(
      `UPDATE reminders.reminders SET next_time = now() + random() * $2::int * interval '1 ms'
       WHERE user_id = ANY($1::uuid[])`,
      [stored.flat(), ROUND_MS],
    );
    return stored;
  };
  /** p95, in seconds, once all were sent. */
  const lagOf = async (userIds: readonly string[]) => {
    const lags = () =>
      query<{ lag: number }>(
        `SELECT extract(epoch FROM update_time - due_time)::float AS lag FROM reminders.deliveries
         WHERE user_id = ANY($1::uuid[]) AND state = 'sent' ORDER BY 1`,
        [userIds],
      );
    await expect.poll(async () => (await lags()).length, LONG).toBe(userIds.length);
    return (await lags())[Math.floor(0.95 * userIds.length)]?.lag ?? 0;
  };
  /** Ends what a round has left, so that the next one begins as the first. */
  const clear = () => query(`DELETE FROM reminders.deliveries WHERE state = 'pending'`);
  const watched = [{ users: GOOD, endpoint: pushEnds.good }, { users: GOOD }];
  const pushRound = async (ends: Readonly<Record<string, string>>, mailDomains: readonly string[]) => {
    const [push = [], mail = [], ...others] = await store([
      ...watched,
      ...Object.values(ends).map((endpoint) => ({ users: OTHERS, endpoint })),
      ...mailDomains.map((mailDomain) => ({ users: OTHERS, mailDomain })),
    ]);
    return { lags: { push: await lagOf(push), mail: await lagOf(mail) }, others };
  };
  const mailRound = async (mood: MailMood) => {
    mailServer.setMood(mood);
    const [push = []] = await store([...watched.slice(0, 1), { users: OTHERS * 5 }]);
    const lag = await lagOf(push);
    await clear();
    mailServer.setMood('good');
    return lag;
  };
  const badPushRound = async () => {
    const bad = await pushEnds.startBad();
    const { lags, others } = await pushRound(bad, ['busy.example', 'gone.example']);
    const endingsOf = async (userIds: readonly string[]) => {
      const rows = await query<{ ending: string }>(
        `SELECT DISTINCT concat_ws(': ', state, failure) AS ending FROM reminders.deliveries
         WHERE user_id = ANY($1::uuid[]) AND attempts > 0 AND failure IS NOT NULL`,
        [userIds],
      );
      return rows.map(({ ending }) => ending).toSorted();
    };
    await expect
      .poll(() => Promise.all(others.map(endingsOf)), LONG)
      .toEqual([
        ['pending: The push service refused for now (429).'],
        ['failed: The push service no longer knows this browser (410).'],
        ['pending: The push service refused for now (500).'],
        ['pending: The push service did not answer in time.', 'pending: The push service was not working.'],
        ['failed: The push service refused the message (302).'],
        ['pending: The mail server refused for now (450).'],
        ['failed: The mail server refused the address (550 5.1.1).'],
      ]);
    const subscribed = () =>
      query(`SELECT FROM reminders.push_subscriptions WHERE starts_with(endpoint, $1)`, [bad.gone]);
    await expect.poll(async () => (await subscribed()).length, LONG).toBe(0);
    await clear();
    return lags;
  };

  const found = {
    good: [] as { push: number; mail: number }[],
    badPush: [] as { push: number; mail: number }[],
    goodMail: [] as number[],
    badMail: [] as number[],
  };
  for (let round = 1; round <= ROUNDS_OF_EACH; round += 1) {
    const good = await pushEnds.startGood();
    found.good.push((await pushRound(good, ['example.com', 'example.com'])).lags);
    found.badPush.push(await badPushRound());
    found.goodMail.push(await mailRound('good'));
    for (const mood of ['slow', 'refusing', 'hanging'] as const) found.badMail.push(await mailRound(mood));
  }
  process.stdout.write(`p95 in s: ${JSON.stringify(found)}\n`);
  expect(pushEnds.followed(), 'redirects that were followed').toBe(0);
  const record = (promise: string, bad: readonly number[], good: readonly number[]) =>
    recordFigure({
      promise: `${promise}: lag, p95, against that beside as many good ends`,
      measured: medianOf(bad) / medianOf(good),
      bar: 1.1,
      unit: 'ratio',
      over: `medians of ${ROUNDS_OF_EACH} rounds, ${GOOD} of each and ${OTHERS} at each other end`,
    });
  const pushOf = (lags: typeof found.good) => lags.map(({ push }) => push);
  const mailOf = (lags: typeof found.good) => lags.map(({ mail }) => mail);
  // A host that does not answer holds each loop once for the time-out of 10 s, until it is known.
  recordFigure({
    promise: 'push messages beside bad push services that are new: lag, p95',
    measured: 1000 * medianOf(pushOf(found.badPush)),
    bar: 12_000,
    unit: 'ms',
    over: `medians of ${ROUNDS_OF_EACH} rounds, ${GOOD} of each and ${OTHERS} at each other end`,
  });
  record('push messages beside a bad mail server', found.badMail, found.goodMail);
  record('mails beside refused recipients and bad push services', mailOf(found.badPush), mailOf(found.good));
});

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
