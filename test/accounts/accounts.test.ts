import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WatchRevocationsResponse } from '../../generated/accounts/v1/WatchRevocationsResponse.ts';
import { generateKey, isWellFormedKey } from '../../services/accounts/keys/rules.ts';
import type { ServiceError } from '../../services/platform/errors.ts';
import type { AuditEntry } from '../../services/platform/logging/logger.ts';
import { createReadiness } from '../../services/platform/observability/readiness.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import type { AccountsClients } from '../../services/programs/keys/clients.ts';
import { startAccountsOn, startTestAccounts, type TestAccounts } from '../support/accounts.ts';
import { refusal } from '../support/scheduling.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

beforeAll(startAll);
afterAll(stopAll);

describe('a key', () => {
  test('has 58 characters, and any one of them mistyped is refused without a look-up', () => {
    const key = generateKey(randomBytes);
    expect(key).toMatch(/^rmk_live_[0-9A-Za-z]{49}$/);
    expect(isWellFormedKey(key)).toBe(true);
    const alphabet = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'];
    fc.assert(
      fc.property(fc.integer({ min: 9, max: 57 }), fc.constantFrom(...alphabet), (position, character) => {
        fc.pre(key[position] !== character);
        expect(isWellFormedKey(key.slice(0, position) + character + key.slice(position + 1))).toBe(false);
      }),
    );
  });

  test('reads by default, is shown once, and stands nowhere in the database', async () => {
    const userId = await newUser();
    const { apiKey, key } = await here.apiKeys.createApiKey({ userId, name: 'laptop' }, CALL);
    expect(apiKey).toMatchObject({
      name: 'laptop',
      scopes: ['materials:read', 'reviews:read', 'profile:read'],
      revokeTime: null,
    });
    const { rows } = await sql('SELECT k::text AS row FROM accounts.api_keys k WHERE user_id = $1', [userId]);
    expect(JSON.stringify(rows)).not.toContain(key.slice(9));
    const { apiKeys } = await here.apiKeys.listApiKeys({ userId }, CALL);
    expect(JSON.stringify(apiKeys)).not.toContain(key.slice(9));
    const verified = await there.apiKeys.verifyApiKey({ key }, CALL);
    expect([verified.user?.userId, verified.apiKey?.apiKeyId]).toEqual([userId, apiKey?.apiKeyId]);
  });

  test('is listed on pages of at most 100', async () => {
    const userId = await newUser();
    const list = (pageSize: number) => refusal(here.apiKeys.listApiKeys({ userId, pageSize }, CALL));
    expect(await list(101)).toBe('INVALID_REQUEST page_size');
    expect(await list(-1)).toBe('INVALID_REQUEST page_size');
  });

  test('is unauthorized, all alike, when malformed, unknown or revoked', async () => {
    const { apiKey, key } = await here.apiKeys.createApiKey({ userId: await newUser() }, CALL);
    await there.apiKeys.revokeApiKey({ apiKeyId: apiKey?.apiKeyId ?? '' }, CALL);
    for (const bad of ['', 'rmk_live_', generateKey(randomBytes), key]) {
      expect(await refusal(here.apiKeys.verifyApiKey({ key: bad }, CALL))).toBe('UNAUTHORIZED');
    }
  });

  test('is made at most 5 times an hour, also by two services at once', async () => {
    const userId = await newUser();
    /** Again where the other service holds the user for longer than a request may wait. */
    const make = (service: AccountsClients): Promise<unknown> =>
      service.apiKeys.createApiKey({ userId }, CALL).catch((error: ServiceError) => {
        if (error.reason !== 'UNAVAILABLE') throw error;
        return make(service);
      });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => make(index % 2 ? here : there)),
    );
    expect((await here.apiKeys.listApiKeys({ userId }, CALL)).apiKeys).toHaveLength(5);
    const refused = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason as ServiceError] : [],
    );
    expect(refused.map(({ reason }) => reason)).toEqual(Array(3).fill('RATE_LIMITED'));
    /** Makes the first of them older, by the interval. */
    const age = (interval: string) =>
      sql(
        `UPDATE accounts.api_keys SET create_time = create_time - $2::interval
         WHERE api_key_id = (SELECT api_key_id FROM accounts.api_keys WHERE user_id = $1
                             ORDER BY create_time, api_key_id LIMIT 1)`,
        [userId, interval],
      );
    await age('30 minutes');
    const retryAfterSeconds = await make(here).then(
      () => 0,
      (error: ServiceError) => error.retryAfterSeconds,
    );
    // Until the oldest is an hour old; the test itself takes no five minutes.
    expect(retryAfterSeconds).toBeGreaterThan(1500);
    expect(retryAfterSeconds).toBeLessThanOrEqual(1800);
    // Who waits for so long is not refused again.
    await age(`${retryAfterSeconds} seconds`);
    await make(here);
    await expect(make(there)).rejects.toMatchObject({ reason: 'RATE_LIMITED' });
  });

  test('is rotated to the same scopes or fewer, never wider, and not once it is revoked', async () => {
    const scopes = ['materials:read', 'materials:write'];
    const { apiKey } = await here.apiKeys.createApiKey({ userId: await newUser(), scopes }, CALL);
    const apiKeyId = apiKey?.apiKeyId ?? '';
    expect((await here.apiKeys.rotateApiKey({ apiKeyId }, CALL)).apiKey?.scopes).toEqual(scopes);
    const narrower = await here.apiKeys.rotateApiKey({ apiKeyId, scopes: ['materials:write'] }, CALL);
    expect(narrower.apiKey?.scopes).toEqual(['materials:write']);
    expect(await refusal(here.apiKeys.rotateApiKey({ apiKeyId, scopes: ['profile:read'] }, CALL))).toBe(
      'INVALID_SCOPE',
    );
    expect(await refusal(here.apiKeys.rotateApiKey({ apiKeyId, scopes: ['everything'] }, CALL))).toBe(
      'INVALID_SCOPE',
    );
    await here.apiKeys.revokeApiKey({ apiKeyId }, CALL);
    expect(await refusal(here.apiKeys.rotateApiKey({ apiKeyId }, CALL))).toBe('NOT_FOUND');
    expect(await refusal(here.apiKeys.revokeApiKey({ apiKeyId: 'x' }, CALL))).toBe('NOT_FOUND');
  });

  test('that lasts to the end of 9999 is rotated to one that ends then, and no later', async () => {
    const expireTime = { seconds: Date.parse('9999-12-31T23:59:59Z') / 1000, nanos: 999_000_000 };
    const { apiKey } = await here.apiKeys.createApiKey({ userId: await newUser(), expireTime }, CALL);
    const rotated = await here.apiKeys.rotateApiKey({ apiKeyId: apiKey?.apiKeyId ?? '' }, CALL);
    expect(rotated.apiKey?.expireTime).toEqual(expireTime);
  });

  test('that is revoked again keeps the time of the first, and its rotation the name', async () => {
    const userId = await newUser();
    const { apiKey } = await here.apiKeys.createApiKey({ userId, name: 'laptop' }, CALL);
    const apiKeyId = apiKey?.apiKeyId ?? '';
    const rotated = await here.apiKeys.rotateApiKey({ apiKeyId }, CALL);
    expect(rotated.apiKey).toMatchObject({ userId, name: 'laptop', revokeTime: null });
    await here.apiKeys.revokeApiKey({ apiKeyId }, CALL);
    await sql("UPDATE accounts.api_keys SET revoke_time = '2026-01-01Z' WHERE api_key_id = $1", [apiKeyId]);
    const again = await there.apiKeys.revokeApiKey({ apiKeyId }, CALL);
    expect(again.apiKey?.revokeTime).toEqual({ seconds: Date.parse('2026-01-01Z') / 1000, nanos: 0 });
  });

  test('of a scope that is unknown or too wide is refused by its name, of which 64 characters are told', async () => {
    const userId = await newUser();
    const all =
      'Scopes: materials:read, materials:write, reviews:read, reviews:write, snooze:write, profile:read.';
    const make = here.apiKeys.createApiKey({ userId, scopes: ['x'.repeat(65)] }, CALL);
    await expect(make).rejects.toThrow(`"${'x'.repeat(64)}" is not a scope. ${all}`);
    const { apiKey } = await here.apiKeys.createApiKey({ userId, scopes: ['reviews:read'] }, CALL);
    const widen = { apiKeyId: apiKey?.apiKeyId ?? '', scopes: ['reviews:read', 'reviews:write'] };
    await expect(here.apiKeys.rotateApiKey(widen, CALL)).rejects.toThrow(
      'A replacement can only have scopes of the old key, which lacks reviews:write.',
    );
  });

  test('is valid until a millisecond before its end', async () => {
    const END = '2999-01-31T09:00:00.000Z';
    const expireTime = { seconds: Date.parse(END) / 1000, nanos: 0 };
    const { key } = await here.apiKeys.createApiKey({ userId: await newUser(), expireTime }, CALL);
    const answers: string[] = [];
    let time = '2999-01-31T08:59:59.999Z';
    const { clients, stop } = await startAccountsOn(own.databaseUrl, {
      peppers: [OLD],
      now: () => new Date(time),
    });
    const verify = () =>
      clients.apiKeys.verifyApiKey({ key }, CALL).then(
        () => answers.push('valid'),
        (error: ServiceError) => answers.push(error.reason),
      );
    await verify();
    time = END;
    await verify();
    await stop();
    expect(answers).toEqual(['valid', 'UNAUTHORIZED']);
  });

  test('moves to the newest pepper when used, also within a minute of its last use; a wrong pepper keeps the service from starting', async () => {
    const { key, apiKey } = await here.apiKeys.createApiKey({ userId: await newUser() }, CALL);
    await here.apiKeys.verifyApiKey({ key }, CALL);
    const stored = async () => {
      const text = 'SELECT pepper_version, key_hash FROM accounts.api_keys WHERE api_key_id = $1';
      return (await sql(text, [apiKey?.apiKeyId])).rows[0];
    };
    const isUsed = async () => {
      const text = 'SELECT FROM accounts.api_keys WHERE api_key_id = $1 AND last_used_time IS NOT NULL';
      return (await sql(text, [apiKey?.apiKeyId])).rowCount;
    };
    // A use within the minute before is not recorded again, and must not keep the old hash.
    await expect.poll(isUsed).toBe(1);
    const rotated = await start([NEW, OLD]);
    await rotated.apiKeys.verifyApiKey({ key }, CALL);
    const key_hash = createHmac('sha256', NEW.secret).update(key).digest();
    await expect.poll(stored).toEqual({ pepper_version: '2', key_hash });
    expect((await rotated.apiKeys.verifyApiKey({ key }, CALL)).apiKey?.apiKeyId).toBe(apiKey?.apiKeyId);
    const wrong = { version: '1', secret: 'x'.repeat(32) };
    for (const peppers of [[wrong], [NEW, wrong]])
      await expect(start(peppers)).rejects.toThrow(
        /^KEY_PEPPER cannot be used: pepper 1: does not match the secret/,
      );
  });
});

describe('a user', () => {
  test('is found by e-mail in any case, and the address cannot be taken twice', async () => {
    const address = email();
    const { user } = await here.users.createUser(
      { email: address, firstName: 'Ada', lastName: '', plan: 'PLAN_PREMIUM', timeZone: 'Europe/Berlin' },
      CALL,
    );
    expect(user).toMatchObject({ firstName: 'Ada', plan: 'PLAN_PREMIUM', timeZone: 'Europe/Berlin' });
    expect(user).not.toHaveProperty('lastName');
    const found = await here.users.findUserByEmail({ email: address.toUpperCase() }, CALL);
    expect(found.user).toEqual(user);
    expect(await refusal(here.users.createUser({ email: address.toUpperCase() }, CALL))).toBe(
      'INVALID_REQUEST email',
    );
  });

  test('is found among several by id or by e-mail address in any case; who is not there leaves a gap', async () => {
    const [a, b] = [email(), email()];
    const made = await Promise.all([a, b].map((address) => here.users.createUser({ email: address }, CALL)));
    const [userA, userB] = made.map(({ user }) => user);
    const keys = [
      { email: b.toUpperCase() },
      { userId: randomUUID() },
      { userId: userA?.userId ?? '' },
      { email: 'nobody@example.com' },
      { email: 'a\u0000b' },
      { userId: 'x' },
      {},
      { email: b },
    ];
    const { users } = await here.users.batchGetUsers({ keys }, CALL);
    const found = users.map(({ user }) => user);
    expect(found).toEqual([userB, null, userA, null, null, null, null, userB]);
    expect(await refusal(here.users.batchGetUsers({ keys: [] }, CALL))).toBe('INVALID_REQUEST keys');
    const tooMany = Array.from({ length: 101 }, () => ({ email: a }));
    expect(await refusal(here.users.batchGetUsers({ keys: tooMany }, CALL))).toBe('INVALID_REQUEST keys');
  });

  test('needs a sound address and time zone', async () => {
    for (const bad of ['', 'a', 'a@', '@b.c', 'a@b', 'a b@c.d', `${'a'.repeat(250)}@b.c`, 'a@b.c\u0000']) {
      expect(await refusal(here.users.createUser({ email: bad }, CALL)), bad).toBe('INVALID_REQUEST email');
    }
    const local = 'a'.repeat(64);
    const domain = (length: number) =>
      `${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(length - 128 - 3)}.ee`;
    for (const bad of [
      '.a@b.cc',
      'a.@b.cc',
      'a..b@c.dd',
      'a@-b.cc',
      'a@b-.cc',
      'a@b..cc',
      'a@b.cc.',
      'a@.b.cc',
      'a@b.c_',
      'a@b@c.dd',
      'ä@b.cc',
      '"a"@b.cc',
      'a,b@c.dd',
      '<a@b.cc>',
      `a${local}@b.cc`,
      `a@${'b'.repeat(64)}.cc`,
      `${local}@${domain(190)}`,
    ]) {
      expect(await refusal(here.users.createUser({ email: bad }, CALL)), bad).toBe('INVALID_REQUEST email');
    }
    for (const good of ["!#$%&'*+/=?^_`{|}~-9Z@b.cc", 'a.b.c@d-e.f--9.1', `${local}@${domain(189)}`]) {
      expect((await here.users.createUser({ email: good }, CALL)).user?.email).toBe(good);
    }
    const request = { email: email(), timeZone: '+02:00' };
    expect(await refusal(here.users.createUser(request, CALL))).toBe('INVALID_REQUEST time_zone');
  });

  test('has names of at most 100 characters, and so have keys', async () => {
    const userId = await newUser();
    const longest = '😀'.repeat(100);
    const { user } = await here.users.updateUser({ userId, firstName: longest, lastName: longest }, CALL);
    expect([user?.firstName, user?.lastName]).toEqual([longest, longest]);
    const made = await here.apiKeys.createApiKey({ userId, name: longest }, CALL);
    expect(made.apiKey?.name).toBe(longest);
    for (const bad of [`${longest}x`, 'a\u0000']) {
      const calls = [
        here.users.updateUser({ userId, firstName: bad }, CALL),
        here.users.updateUser({ userId, lastName: bad }, CALL),
        here.apiKeys.createApiKey({ userId, name: bad }, CALL),
      ];
      expect(await Promise.all(calls.map(refusal))).toEqual([
        'INVALID_REQUEST first_name',
        'INVALID_REQUEST last_name',
        'INVALID_REQUEST name',
      ]);
    }
  });

  test('changes only in the fields given, and is deleted with all keys, twice without harm', async () => {
    const userId = await newUser();
    await here.users.updateUser({ userId, firstName: 'Ada', timeZone: 'Asia/Tokyo' }, CALL);
    const { user } = await here.users.updateUser({ userId, firstName: '' }, CALL);
    expect(user?.timeZone).toBe('Asia/Tokyo');
    expect(user).not.toHaveProperty('firstName');
    const { key } = await here.apiKeys.createApiKey({ userId }, CALL);
    const bystander = await newUser();
    expect((await here.users.deleteUser({ userId }, CALL)).deleted).toBe(true);
    expect((await here.users.deleteUser({ userId }, CALL)).deleted).toBe(false);
    expect((await here.users.getUser({ userId: bystander }, CALL)).user?.userId).toBe(bystander);
    expect(await refusal(here.apiKeys.verifyApiKey({ key }, CALL))).toBe('UNAUTHORIZED');
    expect(await refusal(here.users.getUser({ userId }, CALL))).toBe('NOT_FOUND');
  });

  test('changes in the fields that the mask names and in no other', async () => {
    const userId = await newUser();
    await here.users.updateUser({ userId, firstName: 'Ada', lastName: 'Byron' }, CALL);
    const update = (paths: string[], fields: object) =>
      here.users.updateUser({ userId, ...fields, updateMask: { paths } }, CALL);
    const { user } = await update(['last_name', 'time_zone'], {
      firstName: 'Eve',
      lastName: 'King',
      timeZone: 'Asia/Tokyo',
    });
    expect([user?.firstName, user?.lastName, user?.timeZone]).toEqual(['Ada', 'King', 'Asia/Tokyo']);
    expect((await update(['first_name'], {})).user).not.toHaveProperty('firstName');
    expect(await refusal(update(['user_id'], {}))).toBe('INVALID_REQUEST update_mask');
    for (const kept of ['email', 'plan', 'time_zone'])
      expect(await refusal(update([kept], { lastName: 'X' }))).toBe(`INVALID_REQUEST ${kept}`);
    const address = email();
    await update(['email'], { email: address });
    expect((await here.users.getUser({ userId }, CALL)).user).toMatchObject({
      email: address,
      lastName: 'King',
    });
  });

  test('is listed on one page only, while others are added', async () => {
    const made = [await newUser(), await newUser(), await newUser()];
    await setApart('create_time', made);
    const first = await here.users.listUsers({ pageSize: 2 }, CALL);
    await newUser();
    const second = await here.users.listUsers({ pageSize: 2, pageToken: first.nextPageToken }, CALL);
    const ids = [...first.users, ...second.users].map(({ userId }) => userId);
    expect(ids.slice(0, 3)).toEqual(made.toReversed());
    expect(new Set(ids).size).toBe(4);
    expect(await refusal(here.users.listUsers({ pageToken: 'x' }, CALL))).toBe('INVALID_REQUEST page_token');
    expect(await refusal(here.users.listUsers({ pageSize: 101 }, CALL))).toBe('INVALID_REQUEST page_size');
  });
});

test('users are listed by their latest change from an instant on, oldest first, page by page', async () => {
  const [first, second, third] = [await newUser(), await newUser(), await newUser()];
  await setApart('update_time', [first, second, third]);
  const { user } = await here.users.updateUser({ userId: first, timeZone: 'Europe/Berlin' }, CALL);
  const changedSinceTime = (await here.users.getUser({ userId: second }, CALL)).user?.updateTime ?? null;
  const page = await here.users.listChangedUsers({ changedSinceTime, pageSize: 2 }, CALL);
  expect(page.users.map(({ userId }) => userId)).toEqual([second, third]);
  const rest = { changedSinceTime, pageSize: 2, pageToken: page.nextPageToken };
  expect(await here.users.listChangedUsers(rest, CALL)).toEqual({ users: [user], nextPageToken: '' });
  const list = (request: object) => refusal(here.users.listChangedUsers(request, CALL));
  expect(await list({})).toBe('INVALID_REQUEST changed_since_time');
  expect(await list({ changedSinceTime, pageSize: 101 })).toBe('INVALID_REQUEST page_size');
  expect(await list({ changedSinceTime, pageToken: 'x' })).toBe('INVALID_REQUEST page_token');
});

describe('the stream of revocations', () => {
  test('beats, tells of revocations and changes made elsewhere, and ends when they can be missed', async () => {
    const hear = async () => {
      const { apiKey } = await here.apiKeys.createApiKey({ userId: await newUser() }, CALL);
      const { apiKeyId = '', userId = '' } = apiKey ?? {};
      const stream = there.apiKeys.watchRevocations({}, CALL);
      const events: WatchRevocationsResponse[] = [];
      stream.on('data', (event: WatchRevocationsResponse) => events.push(event));
      let isOver = false;
      const failure = new Promise<{ code: number }>((resolve) => stream.on('error', resolve));
      void failure.then(() => (isOver = true));
      await expect.poll(() => isOver || events.length > 1).toBe(true);
      await here.apiKeys.revokeApiKey({ apiKeyId }, CALL);
      await here.users.updateUser({ userId, firstName: 'New' }, CALL);
      // On a busy machine it also tells of what the tests before it changed.
      const told = () =>
        events.filter((event) => event.revokedApiKeyId === apiKeyId || event.changedUserId === userId);
      await expect.poll(() => isOver || told().length > 1).toBe(true);
      const expected = [{ revokedApiKeyId: apiKeyId }, { changedUserId: userId }];
      return { isOver, first: events[0], told: told(), expected, failure };
    };
    let heard = await hear();
    // Again where a proof was late on a busy machine, which ends the stream.
    for (let left = 9; heard.isOver && left > 0; left -= 1) heard = await hear();
    expect(heard.first).toHaveProperty('heartbeat');
    expect(heard.told).toEqual(heard.expected);
    await sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'accounts-revocations'",
    );
    expect((await heard.failure).code).toBe(14);
    await expect
      .poll(
        async () =>
          await here.apiKeys.verifyApiKey({ key: 'x' }, CALL).catch((error: ServiceError) => error.reason),
      )
      .toBe('UNAUTHORIZED');
  });

  test('ends by itself when its process ends, and is not cut', async () => {
    const { clients, events, server } = await startAccountsOn(own.databaseUrl);
    let ended: Promise<unknown> | undefined;
    const hear = () => {
      const stream = clients.apiKeys.watchRevocations({}, CALL);
      ended = new Promise((resolve) => stream.on('error', resolve));
      return once(stream, 'data').catch(() => undefined);
    };
    await expect.poll(hear).toBeDefined();
    await server.close(0);
    expect(await ended).toMatchObject({
      details: 'The service cannot answer right now. Try again in a moment.',
    });
    events.close();
    clients.close();
  });

  test('comes through DATABASE_SESSION_URL, and the process is degraded while it is away', async () => {
    const sessions = new URL(own.databaseUrl);
    const proxy = await startTcpProxy(Number(sessions.port));
    sessions.host = proxy.target;
    const readiness = createReadiness();
    const { stop } = await startAccountsOn(own.databaseUrl, {
      databaseSessionUrl: sessions.href,
      telemetry: { ...createTelemetry(), readiness },
    });
    stops.push(stop, proxy.stop);
    readiness.started();
    const reasons = async () => (await readiness.report()).reasons;
    await expect.poll(reasons).toEqual([]);
    await proxy.shut();
    await expect
      .poll(reasons)
      .toEqual(['accounts/revocations: no revocation stream: rest checks every key with accounts']);
    await proxy.open();
    await expect.poll(reasons).toEqual([]);
  });
});

describe('the audit', () => {
  test('has a line for every key made, rotated and revoked, with who did it and which key was replaced, and never a key', async () => {
    const userId = await newUser();
    const call = { requestId: 'audited', caller: 'someone' };
    const { apiKey, key } = await here.apiKeys.createApiKey({ userId }, call);
    const rotated = await there.apiKeys.rotateApiKey({ apiKeyId: apiKey?.apiKeyId ?? '' }, call);
    await here.apiKeys.revokeApiKey({ apiKeyId: apiKey?.apiKeyId ?? '' }, call);
    const lines = audited.filter(({ requestId }) => requestId === 'audited');
    const line = { caller: 'someone', outcome: 'ok', requestId: 'audited' };
    expect(lines).toEqual([
      { ...line, action: 'CreateApiKey', targets: { apiKeyId: apiKey?.apiKeyId, userId } },
      {
        ...line,
        action: 'RotateApiKey',
        targets: { apiKeyId: rotated.apiKey?.apiKeyId, userId, replacedApiKeyId: apiKey?.apiKeyId },
      },
      { ...line, action: 'RevokeApiKey', targets: { apiKeyId: apiKey?.apiKeyId, userId } },
    ]);
    expect(JSON.stringify(lines)).not.toContain(key);
  });

  test('has a line for a user who is deleted, and none for one who was deleted before', async () => {
    const userId = await newUser();
    const first = { requestId: 'deleted', caller: 'someone' };
    const second = { requestId: 'deleted again', caller: 'someone' };
    expect(await here.users.deleteUser({ userId }, first)).toEqual({ deleted: true });
    expect(await there.users.deleteUser({ userId }, second)).toEqual({ deleted: false });
    expect(audited.filter(({ targets }) => targets.userId === userId)).toEqual([
      { caller: 'someone', outcome: 'ok', requestId: 'deleted', action: 'DeleteUser', targets: { userId } },
    ]);
  });
});

const CALL = { requestId: 'test' };
const OLD = { version: '1', secret: 'o'.repeat(32) };
const NEW = { version: '2', secret: 'n'.repeat(32) };
let own: TestAccounts;
const stops: (() => Promise<void>)[] = [];
const audited: AuditEntry[] = [];
const OPTIONS = { keysPerHour: 5, audit: (entry: AuditEntry) => void audited.push(entry) };

let here: AccountsClients;
let there: AccountsClients;

async function startAll(): Promise<void> {
  own = await startTestAccounts(OPTIONS);
  here = own.clients;
  there = await start();
}

async function stopAll(): Promise<void> {
  await Promise.all(stops.map((stop) => stop()));
  await own.stop();
}

async function start(peppers = [OLD]): Promise<AccountsClients> {
  const { clients, stop } = await startAccountsOn(own.databaseUrl, { ...OPTIONS, peppers });
  stops.push(stop);
  return clients;
}

const email = () => `${randomBytes(8).toString('hex')}@example.com`;

async function newUser(): Promise<string> {
  return (await here.users.createUser({ email: email() }, CALL)).user?.userId ?? '';
}

/** Gives users, the latest last, times of their own, and all others earlier ones: those of one millisecond are in the order of their IDs. */
async function setApart(column: 'create_time' | 'update_time', userIds: readonly string[]): Promise<void> {
  await sql(
    `UPDATE accounts.users
     SET ${column} = now() - (4 - coalesce(array_position($1::uuid[], user_id), 0)) * interval '1 minute'`,
    [userIds],
  );
}

const sql = (text: string, values: unknown[] = []) => own.sql.query(text, values);
