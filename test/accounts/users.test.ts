// Users and their keys at the edges: what a new one has, addresses that are taken, a hundred at once, tokens of other lists.
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { startAccountsOn, startTestAccounts, type TestAccounts } from '../support/accounts.ts';
import { inTime, openLock } from '../support/row-locks.ts';
import { CALL, refusal } from '../support/scheduling.ts';

beforeAll(startAll);
afterAll(() => here.stop());

test('a sandbox user is one for good, and the version of the ID says so', async () => {
  const made = await accounts.users.createUser({ email: 'sandbox@example.com', sandbox: true }, CALL);
  expect(made.user).toMatchObject({ sandbox: true, userId: expect.stringMatching(/^.{14}8.{3}-[89ab]/) });
  const { userId = '' } = made.user ?? {};
  await accounts.users.updateUser({ userId, firstName: 'Sandy' }, CALL);
  const { users } = await accounts.users.listUsers({ pageSize: 100 }, CALL);
  expect(users.filter(({ sandbox }) => sandbox).map(({ firstName }) => firstName)).toEqual(['Sandy']);
});

test('a new user is on the free plan in UTC, and each wrong field is refused by its own name', async () => {
  const { user } = await accounts.users.createUser({ email: 'new@example.com' }, CALL);
  expect(user).toEqual({
    userId: user?.userId,
    email: 'new@example.com',
    plan: 'PLAN_FREE',
    timeZone: 'UTC',
    sandbox: false,
    createTime: at('2026-12-07T10:00:00Z'),
    updateTime: at('2026-12-07T10:00:00Z'),
  });
  const email = 'none@example.com';
  const wrong = (fields: object) => refusal(accounts.users.createUser({ email, ...fields }, CALL));
  expect(await wrong({ firstName: 'x'.repeat(101) })).toBe('INVALID_REQUEST first_name');
  expect(await wrong({ lastName: 'x'.repeat(101) })).toBe('INVALID_REQUEST last_name');
  expect(await wrong({ plan: 9 })).toBe('INVALID_REQUEST plan');
  expect(await refusal(accounts.users.findUserByEmail({ email }, CALL))).toBe('NOT_FOUND');
  expect(await refusal(accounts.users.findUserByEmail({ email: 'a\0' }, CALL))).toBe('NOT_FOUND');
});

test('a change to an address that another user has is refused and changes nothing; one to the own is none', async () => {
  const [ada, bea] = [await create(), await create()];
  const change = { userId: ada.userId, email: bea.email.toUpperCase(), lastName: 'King' };
  expect(await refusal(accounts.users.updateUser(change, CALL))).toBe('INVALID_REQUEST email');
  const { user } = await accounts.users.getUser({ userId: ada.userId }, CALL);
  expect(user).toMatchObject({ email: ada.email, updateTime: at('2026-12-07T10:00:00Z') });
  expect(user).not.toHaveProperty('lastName');
  nowMs = Date.parse('2026-12-07T10:00:01Z');
  const own = { userId: ada.userId, email: ada.email.toUpperCase() };
  expect((await accounts.users.updateUser(own, CALL)).user).toMatchObject({
    email: ada.email.toUpperCase(),
    createTime: at('2026-12-07T10:00:00Z'),
    updateTime: at('2026-12-07T10:00:01Z'),
  });
});

test('a change has the time of the database, though the clock of this machine is an hour behind', async () => {
  const { userId } = await create();
  const { clients, stop } = await startAccountsOn(here.databaseUrl);
  const realMs = Date.now();
  vi.setSystemTime(realMs - 3_600_000);
  const { user } = await clients.users
    .updateUser({ userId, timeZone: 'Asia/Tokyo' }, CALL)
    .finally(() => vi.useRealTimers());
  expect((user?.updateTime?.seconds ?? 0) * 1000).toBeGreaterThan(realMs - 60_000);
  await stop();
});

test('changes of one user at the same time are all kept', async () => {
  const { userId } = await create();
  const change = async (fields: object) => {
    const lock = await openLock(here.databaseUrl);
    try {
      await lock.sql.query('SELECT FROM accounts.users WHERE user_id = $1 FOR UPDATE', [userId]);
      const changed = [{ firstName: 'Ada' }, fields].map((each) =>
        accounts.users.updateUser({ userId, ...each }, CALL),
      );
      const all = Promise.all(changed);
      await lock.untilWaiting(2, all);
      await lock.release();
      await all;
    } finally {
      await lock.close();
    }
  };
  await inTime(() => change({ lastName: 'King', plan: 'PLAN_PREMIUM' }));
  expect((await accounts.users.getUser({ userId }, CALL)).user).toMatchObject({
    firstName: 'Ada',
    lastName: 'King',
    plan: 'PLAN_PREMIUM',
  });
});

test('a revocation waits for its user before it holds the key, as the deletion of the user does', async () => {
  const { userId } = await create();
  const { apiKey } = await accounts.apiKeys.createApiKey({ userId }, CALL);
  const apiKeyId = apiKey?.apiKeyId ?? '';
  const revoke = async () => {
    const lock = await openLock(here.databaseUrl);
    try {
      await lock.sql.query('SELECT FROM accounts.users WHERE user_id = $1 FOR UPDATE', [userId]);
      const revoked = accounts.apiKeys.revokeApiKey({ apiKeyId }, CALL);
      await lock.untilWaiting(1, revoked);
      await lock.sql.query('SELECT FROM accounts.api_keys WHERE api_key_id = $1 FOR UPDATE NOWAIT', [
        apiKeyId,
      ]);
      await lock.release();
      return await revoked;
    } finally {
      await lock.close();
    }
  };
  expect((await inTime(revoke)).apiKey?.revokeTime).not.toBeNull();
});

test('a hundred users may be asked for at once', async () => {
  const { userId, email } = await create();
  const keys = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? { userId } : { email }));
  const { users } = await accounts.users.batchGetUsers({ keys }, CALL);
  expect(users.map(({ user }) => user?.userId)).toEqual(Array(100).fill(userId));
});

test('a page token of changed users or of events is refused with another filter', async () => {
  const { userId } = await create();
  await create();
  const changedSinceTime = at('2026-12-01T00:00:00Z');
  const changed = (request: object) => accounts.users.listChangedUsers({ pageSize: 1, ...request }, CALL);
  const ofChanged = { pageToken: (await changed({ changedSinceTime })).nextPageToken };
  expect(await refusal(changed({ changedSinceTime, ...ofChanged }))).toBe('no error');
  expect(await refusal(changed({ changedSinceTime: at('2026-12-02T00:00:00Z'), ...ofChanged }))).toBe(
    'INVALID_REQUEST page_token',
  );
  for (const action of ['one', 'two']) await events.recordUserEvent({ userId, action }, CALL);
  const list = (request: object) => events.listUserEvents({ userId, pageSize: 1, ...request }, CALL);
  const { nextPageToken: pageToken } = await list({});
  expect(await refusal(list({ pageToken }))).toBe('no error');
  for (const other of [
    { userId: randomUUID() },
    { kinds: ['USER_EVENT_KIND_OPERATOR'] },
    { kinds: ['USER_EVENT_KIND_KEY'] },
    { excludedActions: ['one'] },
  ])
    expect(await refusal(list({ ...other, pageToken }))).toBe('INVALID_REQUEST page_token');
});

test('an event that a program records, naming no person, is listed as of an operator', async () => {
  const { userId } = await create();
  await events.recordUserEvent({ userId, action: 'deleteMaterial' }, { ...CALL, caller: 'cleanup' });
  const of = async (kind: 'USER_EVENT_KIND_KEY' | 'USER_EVENT_KIND_OPERATOR') =>
    (await events.listUserEvents({ userId, kinds: [kind] }, CALL)).events.map(({ actor }) => actor);
  expect(await of('USER_EVENT_KIND_OPERATOR')).toEqual(['cleanup']);
  expect(await of('USER_EVENT_KIND_KEY')).toEqual([]);
});

test('a key that a program makes, naming no person, is no event of an operator', async () => {
  const { userId } = await create();
  await accounts.apiKeys.createApiKey({ userId }, CALL);
  const of = async (kind: 'USER_EVENT_KIND_KEY' | 'USER_EVENT_KIND_OPERATOR') =>
    (await events.listUserEvents({ userId, kinds: [kind] }, CALL)).events.map(({ action }) => action);
  expect(await of('USER_EVENT_KIND_KEY')).toEqual(['createApiKey']);
  expect(await of('USER_EVENT_KIND_OPERATOR')).toEqual([]);
});

test('a user gets as many keys in an hour as the service is told to make', async () => {
  const { userId } = await create();
  for (const made of [1, 2])
    expect((await accounts.apiKeys.createApiKey({ userId, name: `${made}` }, CALL)).key).toMatch(
      /^rmk_live_/,
    );
  await expect(accounts.apiKeys.createApiKey({ userId }, CALL)).rejects.toMatchObject({
    reason: 'RATE_LIMITED',
    message: 'At most 2 keys can be created for a user in an hour. Try again later.',
  });
});

test('a rotated key counts as one that is made in the hour, and so does one that is revoked', async () => {
  const { userId } = await create();
  const make = () => accounts.apiKeys.createApiKey({ userId }, CALL);
  const apiKeyId = (await make()).apiKey?.apiKeyId ?? '';
  const rotate = () => accounts.apiKeys.rotateApiKey({ apiKeyId }, CALL);
  expect((await rotate()).key).toMatch(/^rmk_live_/);
  await expect(rotate()).rejects.toMatchObject({ reason: 'RATE_LIMITED' });
  await accounts.apiKeys.revokeApiKey({ apiKeyId }, CALL);
  await expect(make()).rejects.toMatchObject({ reason: 'RATE_LIMITED' });
});

test.each([
  ['change', (userId: string) => accounts.users.updateUser({ userId, firstName: 'Ada' }, CALL)],
  ['deletion', (userId: string) => accounts.users.deleteUser({ userId }, CALL)],
])('the %s of a user is told to every process that keeps keys', async (_what, write) => {
  const { userId } = await create();
  const told = await listen();
  await write(userId);
  await expect.poll(() => told).toContain(JSON.stringify({ changedUserId: userId }));
});

test('a revocation is told to every process once it is stored, and not before', async () => {
  const told = await listen();
  const revoke = async () => {
    const { userId } = await create();
    const { apiKey } = await accounts.apiKeys.createApiKey({ userId }, CALL);
    const apiKeyId = apiKey?.apiKeyId ?? '';
    const event = JSON.stringify({ revokedApiKeyId: apiKeyId });
    const lock = await openLock(here.databaseUrl);
    try {
      // The event in the user's timeline is the last that a revocation stores.
      await lock.sql.query('LOCK TABLE accounts.user_events IN SHARE MODE');
      const revoked = accounts.apiKeys.revokeApiKey({ apiKeyId }, CALL);
      await lock.untilWaiting(1, revoked);
      // With its answer comes what was told until then.
      await sql.query('SELECT');
      expect(told).not.toContain(event);
      await lock.release();
      await revoked;
      await expect.poll(() => told).toContain(event);
    } finally {
      await lock.close();
    }
  };
  await inTime(revoke);
});

test('the keys of a user who is not there are not listed as none', async () => {
  expect(await refusal(accounts.apiKeys.listApiKeys({ userId: randomUUID() }, CALL))).toBe('NOT_FOUND');
});

test('the use of a key is noted again a minute later, to the millisecond', async () => {
  const { userId } = await create();
  const { key } = await accounts.apiKeys.createApiKey({ userId }, CALL);
  const noted = async () => (await accounts.apiKeys.listApiKeys({ userId }, CALL)).apiKeys[0]?.lastUsedTime;
  for (const [time, latest] of [
    ['2026-12-07T11:00:00Z', '2026-12-07T11:00:00Z'],
    ['2026-12-07T11:00:59.999Z', '2026-12-07T11:00:00Z'],
    ['2026-12-07T11:01:00Z', '2026-12-07T11:01:00Z'],
  ] as const) {
    nowMs = Date.parse(time);
    await accounts.apiKeys.verifyApiKey({ key }, CALL);
    await expect.poll(noted).toEqual(at(latest));
  }
});

test('the refusal of a key is counted again a minute later, and listed for seven days, to the millisecond', async () => {
  const { userId } = await create();
  const { apiKey, key } = await accounts.apiKeys.createApiKey({ userId }, CALL);
  await accounts.apiKeys.revokeApiKey({ apiKeyId: apiKey?.apiKeyId ?? '' }, CALL);
  const noted = async () => {
    const [found] = (await accounts.apiKeys.listApiKeys({ userId }, CALL)).apiKeys;
    return [found?.lastRefusedTime, found?.refusedMinutes];
  };
  for (const [index, time] of ['2026-12-07T12:00:00Z', '2026-12-07T12:01:00Z'].entries()) {
    nowMs = Date.parse(time);
    expect(await refusal(accounts.apiKeys.verifyApiKey({ key }, CALL))).toBe('UNAUTHORIZED');
    await expect.poll(noted).toEqual([at(time), index + 1]);
  }
  const listed = async (time: string) => {
    nowMs = Date.parse(time);
    const { apiKeys, totalSize } = await accounts.apiKeys.listRefusedApiKeys({}, CALL);
    return [apiKeys.length, totalSize];
  };
  expect(await listed('2026-12-14T12:00:59.999Z')).toEqual([1, 1]);
  expect(await listed('2026-12-14T12:01:00Z')).toEqual([0, 0]);
});

test('a key whose use cannot be noted is valid all the same, and the log names it', async () => {
  const { userId } = await create();
  const { apiKey, key } = await accounts.apiKeys.createApiKey({ userId }, CALL);
  await sql.query(
    'ALTER TABLE accounts.api_keys ADD CONSTRAINT unnoted CHECK (last_used_time IS NULL) NOT VALID',
  );
  expect((await accounts.apiKeys.verifyApiKey({ key }, CALL)).user?.userId).toBe(userId);
  const line = { level: 40, msg: 'could not record the use of a key', apiKeyId: apiKey?.apiKeyId };
  await expect.poll(() => lines).toContainEqual(expect.objectContaining(line));
  await sql.query('ALTER TABLE accounts.api_keys DROP CONSTRAINT unnoted');
  expect(JSON.stringify(lines)).not.toContain(key);
});

const lines: object[] = [];
let nowMs = Date.parse('2026-12-07T10:00:00Z');
let here: TestAccounts;
let accounts: TestAccounts['clients'];
let events: TestAccounts['events'];
let sql: TestAccounts['sql'];

async function startAll(): Promise<void> {
  here = await startTestAccounts({
    keysPerHour: 2,
    logger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    now: () => new Date(nowMs),
  });
  ({ clients: accounts, events, sql } = here);
}

/** What every process that keeps keys is told, until the end of the test. */
async function listen(): Promise<(string | undefined)[]> {
  const told: (string | undefined)[] = [];
  const keep = ({ payload }: { payload?: string | undefined }) => void told.push(payload);
  sql.on('notification', keep);
  onTestFinished(async () => {
    await sql.query('UNLISTEN accounts_revocations');
    sql.off('notification', keep);
  });
  await sql.query('LISTEN accounts_revocations');
  return told;
}

async function create(email = `${randomUUID()}@example.com`) {
  const { user } = await accounts.users.createUser({ email }, CALL);
  return { userId: user?.userId ?? '', email };
}

const at = (time: string) => ({ seconds: Date.parse(time) / 1000, nanos: 0 });
