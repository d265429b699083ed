// Promise: a mail server or push service that is slow, refuses or hangs does not hold up what goes to others.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { makeVapidKeys } from '../../services/reminders/channels/push/vapid.ts';
import { createTestDatabase } from '../support/database.ts';
import { recordFigure } from './support/figures.ts';
import { minuteFrom, startReminding, storeUsers } from './support/reminding.ts';
import { sized } from './support/rounds.ts';

const GOOD = sized(1000);
/** At each bad end. */
const BAD = sized(400);
const LONG = { timeout: 300_000, interval: 250 };

const ends: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A push service of its own host and port. */
async function pushService(answer: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => answer(request, response));
  });
  const port = await listen(server);
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${port}/`;
}
const answering = (status: number) => pushService((_request, response) => response.writeHead(status).end());

test(`${GOOD} push messages are in time beside a mail server that hangs and push services that answer 429, 410, 500 or never`, async () => {
  const { databaseUrl, drop } = await createTestDatabase();
  ends.push(drop);
  const deaf = createTcpServer(() => {});
  const mailPort = await listen(deaf);
  ends.push(() => deaf.close());
  const reminding = await startReminding({
    databaseUrl,
    replicas: 1,
    environment: {
      SMTP_URL: `smtp://127.0.0.1:${mailPort}`,
      VAPID_KEYS: makeVapidKeys(),
      PUSH_ALLOW_PRIVATE: 'on',
    },
  });
  ends.push(reminding.stop);
  const good = await answering(201);
  const bad = {
    busy: await answering(429),
    gone: await answering(410),
    broken: await answering(500),
    hanging: await pushService(() => {}),
  };

  /** Stores users whose turns come within the next minute. @returns the lag of those `store` names, p95, in seconds. */
  const lagOf = async (store: (dueTime: Date) => Promise<string[]>) => {
    const userIds = await store(minuteFrom(0.15));
    const lags = () =>
      reminding.query<{ lag: number }>(
        `SELECT extract(epoch FROM update_time - due_time)::float AS lag FROM reminders.deliveries
         WHERE user_id = ANY($1::uuid[]) AND state = 'sent' ORDER BY 1`,
        [userIds],
      );
    await expect.poll(async () => (await lags()).length, LONG).toBe(userIds.length);
    return (await lags())[Math.floor(0.95 * userIds.length)]?.lag ?? 0;
  };
  const add = (users: number, dueTime: Date, endpoint?: string) =>
    storeUsers(reminding, { users, dueTime, ...(endpoint !== undefined && { endpoint }) });

  const quiet = await lagOf((dueTime) => add(GOOD, dueTime, good));
  const noisy = await lagOf(async (dueTime) => {
    await add(BAD, dueTime);
    for (const endpoint of Object.values(bad)) await add(BAD, dueTime, endpoint);
    return add(GOOD, dueTime, good);
  });
  process.stdout.write(`p95 ${quiet} s alone, ${noisy} s beside them\n`);
  recordFigure({
    promise: 'a slow or refusing mail server or push service: lag of others, p95, against the lag without it',
    measured: noisy / quiet,
    bar: 1.1,
    unit: 'ratio',
    over: `${GOOD} push messages, ${BAD} at each of five bad ends`,
  });

  const endsAt = (endpoint: string) =>
    reminding.query<{ state: string; failure: string; count: number }>(
      `SELECT DISTINCT d.state, d.failure FROM reminders.deliveries d
       JOIN reminders.push_subscriptions s USING (user_id, subscription_id)
       WHERE starts_with(s.endpoint, $1) AND d.failure IS NOT NULL`,
      [endpoint],
    );
  const refused = (status: number) => [
    { state: 'pending', failure: `The push service refused for now (${status}).` },
  ];
  await expect.poll(() => endsAt(bad.busy), LONG).toEqual(refused(429));
  await expect.poll(() => endsAt(bad.broken), LONG).toEqual(refused(500));
  await expect
    .poll(() => endsAt(bad.hanging), LONG)
    .toEqual([{ state: 'pending', failure: 'The push service did not answer in time.' }]);
  const countOf = async (where: string) =>
    (await reminding.query<{ count: number }>(`SELECT count(*)::int AS count FROM reminders.${where}`))[0]
      ?.count;
  await expect
    .poll(
      () => countOf(`deliveries WHERE state = 'failed' AND failure LIKE 'The push service no longer knows%'`),
      LONG,
    )
    .toBe(BAD);
  await expect
    .poll(() => countOf(`push_subscriptions WHERE starts_with(endpoint, '${bad.gone}')`), LONG)
    .toBe(0);
});
