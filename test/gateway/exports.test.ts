// Exports of a user: texts that a spreadsheet would run, many pages, and clients that do not stay to read them.
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { toTimestamp } from '../../services/platform/instants.ts';
import { test } from '../fixtures.ts';
import { OPERATOR, startTestGateway, VIEWER } from '../support/gateway.ts';
import { CALL } from '../support/scheduling.ts';

test.for(['jsonl', 'csv'])(
  'an export as %s whose client has gone before its first byte asks scheduling for nothing',
  async (form, { system, user }) => {
    const client = new AbortController();
    const [gone, recorded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const gateway = await startTestGateway(system, undefined, async (rpc, make) => {
      if (rpc === 'getUser') {
        client.abort();
        await gone.promise;
      }
      const answer = await make();
      if (rpc === 'recordUserEvent') recorded.resolve();
      return answer;
    });
    gateway.server.on('request', (_request, response) => response.once('close', gone.resolve));
    const rpcs = await gateway.rpcsOf(async () => {
      const headers = { authorization: `Bearer ${OPERATOR}` };
      const url = `${gateway.origin}/exports/users/${user.userId}?as=${form}`;
      await expect(fetch(url, { headers, signal: client.signal })).rejects.toThrow('aborted');
      await recorded.promise;
      await setImmediate();
    });
    await gateway.stop();
    expect(rpcs).toEqual(['getUser', 'recordUserEvent']);
  },
);

test.for([
  ['', 'exportUser'],
  ['?as=jsonl', 'exportMaterials'],
  ['?as=csv', 'exportMaterials'],
] as const)(
  'a viewer is refused the export of a user%s, and the audit log has it as %s',
  async ([form, action], { gateway, user: { userId } }) => {
    const url = `${gateway.origin}/exports/users/${userId}${form}`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${VIEWER}` } });
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ errors: [{ extensions: { code: 'INSUFFICIENT_SCOPE' } }] });
    expect(gateway.audited.at(-1)).toMatchObject({
      action,
      outcome: 'INSUFFICIENT_SCOPE',
      caller: 'gateway/vic',
      targets: { userId },
    });
  },
);

test('an export of a sandbox user says how far the clock is ahead, and not an instant in 1970', async ({
  gateway,
}) => {
  const run = async (name: string, type: string, input: object, fields: string) =>
    (await gateway.query(`mutation ($input: ${type}!) { ${name}(input: $input) { ${fields} } }`, { input }))
      .data[name];
  const account = { email: `${randomUUID()}@example.com`, sandbox: true };
  const { user } = await run('createUser', 'CreateUserInput', account, 'user { id }');
  const move = { userId: user.id, forwardSeconds: 518_400 };
  await run('setTestClock', 'SetTestClockInput', move, 'testClock { now }');
  const answer = await fetch(`${gateway.origin}/exports/users/${user.id}`, {
    headers: { authorization: `Bearer ${OPERATOR}` },
  });
  expect(await answer.json()).toMatchObject({
    user: { createTime: expect.stringMatching(/^20\d\d-.*Z$/) },
    testClock: [{ nowTime: expect.stringMatching(/^20\d\d-.*Z$/), ahead: { seconds: 518_400, nanos: 0 } }],
  });
});

test('a timeline with more pages than one query may make calls is saved whole', async ({ system, user }) => {
  const pages = 251;
  let page = 0;
  const gateway = await startTestGateway(system, undefined, (rpc, make) => {
    if (rpc !== 'listUserEvents') return make();
    page += 1;
    return { events: [eventOf(user.userId, page)], nextPageToken: page < pages ? 'more' : '' };
  });
  const url = `${gateway.origin}/exports/users/${user.userId}/timeline.jsonl?kind=OPERATOR`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${OPERATOR}` } });
  expect((await answer.text()).trimEnd().split('\n')).toHaveLength(pages);
  await gateway.stop();
});

test.for([
  ['users/ID/timeline', 'listReviews'],
  ['users/ID/timeline', 'listSnoozes'],
  ['users/ID/timeline', 'batchGetMaterials'],
  ['audit', 'batchGetUsers'],
] as const)(
  '%s is not saved while %s is not answered, whatever else is there',
  async ([file, away], { system, user: { userId } }) => {
    const gateway = await startTestGateway(system, undefined, (rpc, make) => {
      if (rpc === away) throw new ServiceError('UNAVAILABLE');
      return make();
    });
    const create = `mutation { createMaterial(input: {userId: "${userId}", title: "t"}) { material { id } } }`;
    await gateway.query(create);
    const url = `${gateway.origin}/exports/${file.replace('ID', userId)}.jsonl`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${OPERATOR}` } });
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('UNAVAILABLE')]);
    await gateway.stop();
  },
);

test.for(['users/ID', 'users/ID/timeline.csv', 'audit.csv'])(
  'HEAD of /exports/%s is not found, and reads nothing',
  async (path, { gateway, user }) => {
    const url = `${gateway.origin}/exports/${path.replace('ID', user.userId)}`;
    const headers = { authorization: `Bearer ${OPERATOR}` };
    const rpcs = await gateway.rpcsOf(async () => {
      expect((await fetch(url, { method: 'HEAD', headers })).status).toBe(404);
    });
    expect(rpcs).toEqual([]);
  },
);

test('a timeline of a kind that is not there is refused', async ({ gateway, user }) => {
  const url = `${gateway.origin}/exports/users/${user.userId}/timeline.csv?kind=KEY&kind=reviews`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${OPERATOR}` } });
  const message = 'kind must be one of REVIEW, SNOOZE, REMINDER, KEY, OPERATOR.';
  expect([answer.status, await answer.json()]).toEqual([
    400,
    { errors: [{ message, extensions: { code: 'INVALID_REQUEST', field: 'kind' } }] },
  ]);
});

test.for(['=1+1', '+1', '-1', '@a', '\tb'])(
  'the title %j has an apostrophe in front in the CSV of a timeline, and not in JSONL',
  async (title, { gateway, user: { userId } }) => {
    const { material } = await gateway.clients.materials.createMaterial({ userId, title }, CALL);
    const materialId = material?.materialId ?? '';
    await gateway.clients.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
    const save = async (format: string) => {
      const headers = { authorization: `Bearer ${OPERATOR}` };
      const url = `${gateway.origin}/exports/users/${userId}/timeline.${format}?kind=REVIEW`;
      return (await fetch(url, { headers })).text();
    };
    const [head = '', row = ''] = (await save('csv')).split('\r\n');
    expect(row.split(',')[head.split(',').indexOf('materialTitle')]).toBe(`'${title}`);
    expect(JSON.parse(await save('jsonl'))).toMatchObject({ materialTitle: title });
  },
);

test('a saved timeline says of a review that it was undone, and of a snooze that it was cancelled', async ({
  gateway,
  user: { userId },
}) => {
  const { materials, reviews, snoozes } = gateway.clients;
  const { material } = await materials.createMaterial({ userId, title: 't' }, CALL);
  const materialId = material?.materialId ?? '';
  const { review } = await reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
  await reviews.undoReview({ userId, reviewId: review?.reviewId ?? '' }, CALL);
  await reviews.submitReview({ userId, materialId, quality: 5 }, CALL);
  const snoozeUntilTime = toTimestamp(new Date('2099-01-01T00:00:00Z'));
  const { snooze } = await snoozes.snoozeMaterials(
    { userId, materialIds: [materialId], snoozeUntilTime },
    CALL,
  );
  await snoozes.cancelSnooze({ userId, snoozeId: snooze?.snoozeId ?? '' }, CALL);
  const url = `${gateway.origin}/exports/users/${userId}/timeline.jsonl?kind=REVIEW&kind=SNOOZE`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${OPERATOR}` } });
  const rows = (await answer.text()).trimEnd().split('\n');
  expect(rows.map((row) => JSON.parse(row))).toMatchObject([
    { kind: 'SNOOZE', cancelledAt: expect.stringMatching(/Z$/) },
    { kind: 'REVIEW', grade: 5, undoneAt: null },
    { kind: 'REVIEW', grade: 4, undoneAt: expect.stringMatching(/Z$/) },
  ]);
});

test.for(['users/ID/timeline', 'audit'])(
  '%s.csv begins with a byte order mark, by which Excel knows UTF-8, and JSONL with its first line',
  async (file, { gateway, user }) => {
    await gateway.query(
      `mutation { updateUser(input: {userId: "${user.userId}", firstName: "Zoë"}) { user { id } } }`,
    );
    const save = async (format: string) => {
      const headers = { authorization: `Bearer ${OPERATOR}` };
      const url = `${gateway.origin}/exports/${file.replace('ID', user.userId)}.${format}`;
      return Buffer.from(await (await fetch(url, { headers })).arrayBuffer()).toString();
    };
    expect((await save('csv')).slice(0, 6)).toBe('\ufefftime,');
    expect((await save('jsonl')).slice(0, 7)).toBe('{"time"');
  },
);

/** As accounts tells it, older with a higher `number`. */
const eventOf = (userId: string, number: number) => ({
  userId,
  eventId: randomUUID(),
  eventTime: toTimestamp(new Date(Date.UTC(2026, 10, 20) - number)),
  kind: 'USER_EVENT_KIND_OPERATOR',
  action: 'updateUser',
  actor: 'gateway/olga',
  requestId: '',
  subjectIds: [],
  snoozeId: '',
});
