// What was done to a user: written with the change of a key, recorded for people, listed, forgotten.
import { randomBytes, randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ListUserEventsRequestInput } from '../../generated/accounts/v1/ListUserEventsRequest.ts';
import { startAccountsOn, startTestAccounts, type TestAccounts } from '../support/accounts.ts';
import { mostRowsDuring } from '../support/rows-read.ts';
import { refusal } from '../support/scheduling.ts';

beforeAll(startAll);
afterAll(() => here.stop());

describe('events of keys', () => {
  test('say which key was created, rotated and revoked, by whom and in which request, and no secret', async () => {
    const userId = await newUser();
    const first = await accounts.apiKeys.createApiKey(
      { userId, name: 'My phone' },
      { requestId: 'r-2', caller: 'keys' },
    );
    const firstId = first.apiKey?.apiKeyId ?? '';
    const second = await accounts.apiKeys.rotateApiKey({ apiKeyId: firstId }, BY_OLGA);
    const secondId = second.apiKey?.apiKeyId ?? '';
    for (const requestId of ['r-3', 'r-4'])
      await accounts.apiKeys.revokeApiKey({ apiKeyId: firstId }, { ...BY_OLGA, requestId });
    const found = await list(userId);
    expect(
      found.map(({ action, actor, requestId, subjectIds, kind }) => ({
        action,
        actor,
        requestId,
        subjectIds,
        kind,
      })),
    ).toEqual([
      {
        action: 'revokeApiKey',
        actor: 'gateway/olga',
        requestId: 'r-3',
        subjectIds: [firstId],
        kind: 'USER_EVENT_KIND_KEY',
      },
      {
        action: 'rotateApiKey',
        actor: 'gateway/olga',
        requestId: 'r-1',
        subjectIds: [secondId, firstId],
        kind: 'USER_EVENT_KIND_KEY',
      },
      {
        action: 'createApiKey',
        actor: 'keys',
        requestId: 'r-2',
        subjectIds: [firstId],
        kind: 'USER_EVENT_KIND_KEY',
      },
    ]);
    const { rows } = await sql.query('SELECT * FROM accounts.user_events WHERE user_id = $1', [userId]);
    expect(JSON.stringify(rows)).not.toMatch(/rmk_live_|My phone/);
  });

  test('are written with the change or not at all: a refused key leaves none', async () => {
    const userId = await newUser();
    expect(await refusal(accounts.apiKeys.createApiKey({ userId, scopes: ['all'] }, BY_OLGA))).toBe(
      'INVALID_SCOPE',
    );
    expect(await list(userId)).toEqual([]);
    await sql.query('ALTER TABLE accounts.user_events ADD CONSTRAINT none CHECK (false) NOT VALID');
    expect(await refusal(accounts.apiKeys.createApiKey({ userId }, BY_OLGA))).toBe('INTERNAL_ERROR');
    await sql.query('ALTER TABLE accounts.user_events DROP CONSTRAINT none');
    expect((await accounts.apiKeys.listApiKeys({ userId }, BY_OLGA)).apiKeys).toEqual([]);
  });
});

test('an event holds the names of fields, and nothing that is none', async () => {
  const userId = await newUser();
  const update = { userId, action: 'updateUser', fields: ['timeZone', 'firstName'] };
  await events.recordUserEvent(update, BY_OLGA);
  expect((await list(userId)).map(({ fields }) => fields)).toEqual([['timeZone', 'firstName']]);
  for (const fields of [['Asia/Tokyo'], [''], Array(21).fill('email')])
    expect(await refusal(events.recordUserEvent({ ...update, fields }, BY_OLGA))).toBe(
      'INVALID_REQUEST fields',
    );
});

describe('what a person did', () => {
  test('is recorded with the caller, the request and the ids', async () => {
    const userId = await newUser();
    const materialId = randomUUID();
    await events.recordUserEvent({ userId, action: 'archiveMaterial', subjectIds: [materialId] }, BY_OLGA);
    const [event] = await list(userId);
    expect(event).toMatchObject({
      action: 'archiveMaterial',
      actor: 'gateway/olga',
      requestId: 'r-1',
      subjectIds: [materialId],
      kind: 'USER_EVENT_KIND_OPERATOR',
    });
  });

  test('has at most 40 letters and 100 subjects', async () => {
    const userId = await newUser();
    const subjectIds = Array.from({ length: 100 }, () => randomUUID());
    const action = 'aZ'.repeat(20);
    await events.recordUserEvent({ userId, action, subjectIds }, BY_OLGA);
    expect(await list(userId)).toMatchObject([{ action, subjectIds }]);
  });

  test('is bounded: 200 characters of a caller, 128 of a request id', async () => {
    const userId = await newUser();
    const call = { requestId: 'r'.repeat(500), caller: `gateway/${'o'.repeat(500)}` };
    await events.recordUserEvent({ userId, action: 'updateUser' }, call);
    const [event] = await list(userId);
    expect([event?.actor.length, event?.requestId.length]).toEqual([200, 128]);
  });

  test.each([
    ['an unknown user', { userId: randomUUID(), action: 'updateUser' }, 'NOT_FOUND'],
    ['an action with text', { action: 'wrote “Dear Ada”' }, 'INVALID_REQUEST action'],
    ['no action', { action: '' }, 'INVALID_REQUEST action'],
    ['an action of 41 letters', { action: 'a'.repeat(41) }, 'INVALID_REQUEST action'],
    ['an action with a digit', { action: 'archive2' }, 'INVALID_REQUEST action'],
    ['a subject that is no id', { action: 'a', subjectIds: ['Ohm’s law'] }, 'INVALID_REQUEST subject_ids'],
    [
      '101 subjects',
      { action: 'a', subjectIds: Array.from({ length: 101 }, () => randomUUID()) },
      'INVALID_REQUEST subject_ids',
    ],
  ])('is refused for %s', async (_what, request, refused) => {
    const userId = await newUser();
    expect(await refusal(events.recordUserEvent({ userId, ...request }, BY_OLGA))).toBe(refused);
    expect(await list(userId)).toEqual([]);
  });
});

describe('the list of events', () => {
  const [T1, T2] = ['2026-11-01T10:00:00.000Z', '2026-11-01T10:00:00.001Z'];
  const id = (last: string) => `00000000-0000-7000-8000-00000000000${last}`;
  async function fill(): Promise<string> {
    const userId = await newUser();
    const rows: [string, string, string, boolean, boolean][] = [
      [T1, id('1'), 'one', false, true],
      [T1, id('2'), 'two', true, false],
      [T1, id('3'), 'three', true, true],
      [T2, id('0'), 'four', false, true],
    ];
    for (const row of rows)
      await sql.query(
        `INSERT INTO accounts.user_events (user_id, event_time, event_id, action, is_of_key, is_of_person,
           actor, request_id, subject_ids) VALUES ($1, $2, $3, $4, $5, $6, 'a', 'r', '{}')`,
        [userId, ...row],
      );
    return userId;
  }

  test('is in the order of time and id, newest first, page by page, whatever is added meanwhile', async () => {
    const userId = await fill();
    const first = await events.listUserEvents({ userId, pageSize: 2 }, BY_OLGA);
    expect(first.events.map(({ action }) => action)).toEqual(['four', 'three']);
    await events.recordUserEvent({ userId, action: 'five' }, BY_OLGA);
    expect(await actions(userId, { pageSize: 2, pageToken: first.nextPageToken })).toEqual(['two', 'one']);
  });

  test('begins after a given time and id', async () => {
    const userId = await fill();
    const beforeTime = { seconds: Date.parse(T1) / 1000, nanos: 0 };
    expect(await actions(userId, { beforeTime, beforeId: id('3') })).toEqual(['two', 'one']);
    expect(await actions(userId, { beforeTime, beforeId: id('9') })).toEqual(['three', 'two', 'one']);
  });

  test('has the kinds asked for, without the actions named', async () => {
    const userId = await fill();
    expect(await actions(userId, { kinds: ['USER_EVENT_KIND_KEY'] })).toEqual(['three', 'two']);
    expect(await actions(userId, { kinds: ['USER_EVENT_KIND_OPERATOR'] })).toEqual(['four', 'three', 'one']);
    expect(await actions(userId, { excludedActions: ['four', 'one'] })).toEqual(['three', 'two']);
    const twenty = [...Array<string>(19).fill('none'), 'two'];
    expect(await actions(userId, { excludedActions: twenty })).toEqual(['four', 'three', 'one']);
  });

  test.each([
    ['before_id alone', { beforeId: randomUUID() }, 'INVALID_REQUEST before_id'],
    ['before_time alone', { beforeTime: { seconds: 1 } }, 'INVALID_REQUEST before_id'],
    [
      'both ways to begin',
      { beforeTime: { seconds: 1 }, beforeId: randomUUID(), pageToken: 'x' },
      'INVALID_REQUEST page_token',
    ],
    ['an unnamed kind', { kinds: ['USER_EVENT_KIND_UNSPECIFIED' as const] }, 'INVALID_REQUEST kinds'],
    ['a bad action', { excludedActions: ['a b'] }, 'INVALID_REQUEST excluded_actions'],
    ['21 actions', { excludedActions: Array(21).fill('a') }, 'INVALID_REQUEST excluded_actions'],
    ['a page of 101', { pageSize: 101 }, 'INVALID_REQUEST page_size'],
  ])('refuses %s', async (_what, request, refused) => {
    expect(await refusal(list(randomUUID(), request))).toBe(refused);
  });
});

describe('events end', () => {
  const insert = (userId: string, time: string, action: string, count: number) =>
    sql.query(
      `INSERT INTO accounts.user_events (user_id, event_time, event_id, action, is_of_key, is_of_person,
         actor, request_id, subject_ids)
       SELECT $1, $2, gen_random_uuid(), $3, false, true, 'a', 'r', '{}' FROM generate_series(1, $4)`,
      [userId, time, action, count],
    );

  test('after more than 90 days, a thousand at a time, when a service starts', async () => {
    const userId = await newUser();
    await insert(userId, '2029-10-02T23:59:59.999Z', 'old', 1001);
    await insert(userId, '2029-10-03T00:00:00Z', 'young', 2);
    const counts = async () => {
      const { rows } = await sql.query(
        'SELECT action, count(*)::int FROM accounts.user_events WHERE user_id = $1 GROUP BY action',
        [userId],
      );
      return rows.map(({ action, count }) => `${action} ${count}`);
    };
    const now = () => new Date('2030-01-01T00:00:00Z');
    const most = await mostRowsDuring(here.databaseUrl, async () => {
      const another = await startAccountsOn(here.databaseUrl, { now });
      while ((await counts()).length > 1) await setImmediate();
      await another.stop();
    });
    expect(await counts()).toEqual(['young 2']);
    expect(most).toBe(1000);
  });

  test('with their user', async () => {
    const userId = await newUser();
    await accounts.apiKeys.createApiKey({ userId }, BY_OLGA);
    await events.recordUserEvent({ userId, action: 'updateUser' }, BY_OLGA);
    expect(await actions(userId)).toEqual(['updateUser', 'createApiKey']);
    await accounts.users.deleteUser({ userId }, BY_OLGA);
    const { rows } = await sql.query('SELECT FROM accounts.user_events WHERE user_id = $1', [userId]);
    expect(rows).toEqual([]);
  });
});

const BY_OLGA = { requestId: 'r-1', caller: 'gateway/olga' };

let here: TestAccounts;
let accounts: TestAccounts['clients'];
let events: TestAccounts['events'];
let sql: TestAccounts['sql'];

async function startAll(): Promise<void> {
  here = await startTestAccounts();
  ({ clients: accounts, events, sql } = here);
}

async function newUser(): Promise<string> {
  const email = `${randomBytes(8).toString('hex')}@example.com`;
  return (await accounts.users.createUser({ email }, BY_OLGA)).user?.userId ?? '';
}

async function list(userId: string, request: ListUserEventsRequestInput = {}) {
  return (await events.listUserEvents({ userId, ...request }, BY_OLGA)).events;
}

async function actions(userId: string, request: ListUserEventsRequestInput = {}) {
  return (await list(userId, request)).map(({ action }) => action);
}
