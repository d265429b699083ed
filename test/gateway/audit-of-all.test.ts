// The audit of all users over GraphQL and as a file: what was done, by whom, filtered.
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { test as base, type Given } from '../fixtures.ts';
import { OPERATOR, VIEWER } from '../support/gateway.ts';

const test = base
  /** A person whom no other test knows. */
  .extend('actor', () => `gateway/${randomUUID()}`)
  .extend(
    'record',
    ({ gateway, actor }) =>
      async (userId: string, action: string, subjectIds: string[] = []) => {
        const call = { requestId: `r-${action}`, caller: actor };
        await gateway.clients.userEvents.recordUserEvent({ userId, action, subjectIds }, call);
      },
  )
  .extend('audit', audit)
  .extend('save', save);

test('has what was done to several users, newest first, by actor and action, also for a viewer', async ({
  system,
  actor,
  record,
  audit,
}) => {
  const [ada, bob] = [await system.createUser(), await system.createUser()];
  const subject = randomUUID();
  await record(ada.userId, 'archiveMaterial', [subject]);
  await record(bob.userId, 'updateUser');
  await record(ada.userId, 'updateUser');
  const { nodes } = await audit({ actor });
  expect(nodes.map(({ userId, event }) => [userId, event.action])).toEqual([
    [ada.userId, 'updateUser'],
    [bob.userId, 'updateUser'],
    [ada.userId, 'archiveMaterial'],
  ]);
  expect(nodes[2]).toMatchObject({
    user: { email: expect.stringMatching(/@example.com$/) },
    event: { kind: 'OPERATOR', actor, requestId: 'r-archiveMaterial', subjectIds: [subject] },
  });
  const archived = await audit({ actor, action: 'archiveMaterial' }, VIEWER);
  expect(archived.nodes).toEqual([nodes[2]]);
});

test('takes the name of a person without the program', async ({ user: { userId }, actor, record, audit }) => {
  await record(userId, 'updateUser');
  const name = actor.replace('gateway/', '');
  expect((await audit({ actor: name })).nodes).toMatchObject([{ userId, event: { actor } }]);
  expect((await audit({ actor: name.slice(1) })).nodes).toEqual([]);
});

test('goes from an instant on, up to another, page by page', async ({
  user,
  actor,
  record,
  audit,
  scheduling,
}) => {
  for (const action of ['a', 'b', 'c', 'd']) await record(user.userId, action);
  // A day apart, the latest at noon.
  await scheduling.sql.query(
    `UPDATE accounts.user_events SET event_time = timestamptz '2026-11-20T12:00Z' - (ascii('d') - ascii(action)) * interval '1 day'
     WHERE actor = $1`,
    [actor],
  );
  const within = { actor, since: '2026-11-18T12:00:00Z', until: '2026-11-20T12:00:00Z' };
  const read = async (page: object) => {
    const { nodes, pageInfo } = await audit({ ...within, ...page });
    return { actions: nodes.map(({ event }) => event.action), after: pageInfo.endCursor };
  };
  expect((await read({})).actions).toEqual(['c', 'b']);
  const first = await read({ first: 1 });
  expect([first.actions, (await read({ first: 1, after: first.after })).actions]).toEqual([['c'], ['b']]);
});

test('is saved as JSONL and CSV, filtered, past a page, with no text that a spreadsheet runs', async ({
  user: { userId },
  actor,
  record,
  save,
}) => {
  const subject = randomUUID();
  for (let index = 0; index < 102; index += 1) await record(userId, 'updateUser', [subject]);
  await record(userId, 'archiveMaterial');
  const jsonl = await save('jsonl', { actor, action: 'updateUser' }, VIEWER);
  expect([jsonl.status, jsonl.type]).toEqual([200, 'application/jsonl; charset=utf-8']);
  const rows = jsonl.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(rows).toHaveLength(102);
  const common = { userId, kind: 'OPERATOR', action: 'updateUser', by: actor, requestId: 'r-updateUser' };
  expect(rows[101]).toEqual({
    ...common,
    time: expect.stringMatching(/Z$/),
    email: expect.stringMatching(/@example.com$/),
    subjectIds: [subject],
    snoozeId: null,
    fields: [],
    id: expect.any(String),
  });
  const csv = await save('csv', { actor, action: 'updateUser' });
  expect([csv.status, csv.type]).toEqual([200, 'text/csv; charset=utf-8']);
  const [head, first, ...others] = csv.text.trimEnd().split('\r\n');
  expect(head).toBe('time,userId,email,kind,action,by,requestId,subjectIds,snoozeId,fields,id');
  expect(first).toBe(
    [
      rows[0].time,
      userId,
      rows[0].email,
      'OPERATOR',
      'updateUser',
      actor,
      'r-updateUser',
      subject,
      '',
      '',
      rows[0].id,
    ].join(','),
  );
  expect(others).toHaveLength(101);
  expect((await save('csv', { actor: 'gateway/nobody-at-all' })).text).toBe(`${head}\r\n`);
  const late = { actor, until: '2020-01-01T00:00:00Z' };
  expect(await save('jsonl', late)).toMatchObject({ status: 200, text: '' });
});

test.for<[query: Record<string, string>, field: string]>([
  [{ actor: 'x'.repeat(201) }, 'actor'],
  [{ action: 'a b' }, 'action'],
  [{ since: 'yesterday' }, 'since'],
  [{ until: '2026-02-30T00:00:00Z' }, 'until'],
])('refuses %j before the first line, with the field', async ([query, field], { save, audit }) => {
  const { status, text } = await save('csv', query);
  expect([status, JSON.parse(text).errors[0].extensions]).toEqual([400, { code: 'INVALID_REQUEST', field }]);
  expect((await audit(query)).errors?.[0]?.extensions.code).toBe('INVALID_REQUEST');
});

test('is a file for nobody without a token, and in two forms only', async ({ save, gateway }) => {
  expect((await fetch(`${gateway.origin}/exports/audit.csv`)).status).toBe(401);
  expect((await save('xml', {})).status).toBe(404);
});

const AUDIT = `query ($actor: String, $action: String, $since: DateTime, $until: DateTime, $first: Int, $after: String) {
  audit(actor: $actor, action: $action, since: $since, until: $until, first: $first, after: $after) {
    nodes { userId user { email } event { at kind action actor requestId subjectIds } } pageInfo { hasNextPage endCursor } } }`;

function audit({ gateway }: Given<'gateway'>) {
  return async (variables: object, token = OPERATOR) => {
    const { data, errors } = await gateway.query(AUDIT, variables, token);
    return { errors, nodes: data?.audit?.nodes as Node[], pageInfo: data?.audit?.pageInfo };
  };
}

function save({ gateway }: Given<'gateway'>) {
  return async (file: string, query: Record<string, string>, token = OPERATOR) => {
    const url = `${gateway.origin}/exports/audit.${file}?${new URLSearchParams(query)}`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
  };
}

type Node = {
  userId: string;
  user: { email: string };
  event: { at: string; action: string; subjectIds: string[] };
};
