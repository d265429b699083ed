// The timeline of a learner: what is in it, in which order, and what it says while a part is away.
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, describe, expect } from 'vitest';
import { createEventRecorder } from '../../gateway/access/audit.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { type Given, test } from '../fixtures.ts';
import { createApi } from '../support/api.ts';
import { startTestGateway, type TestGateway, VIEWER } from '../support/gateway.ts';
import { startStubReminders, stubDelivery, timestamp } from '../support/stub-reminders.ts';

test.beforeAll(startAll);
afterAll(stopAll);

const ALL = [
  'REMINDER',
  'KEY revokeApiKey',
  'OPERATOR archiveMaterial',
  'SNOOZE',
  'OPERATOR submitReview',
  'REVIEW',
  'OPERATOR createMaterial',
  'KEY createApiKey',
];

describe('a timeline', () => {
  test('has what happened, newest first, each thing once, with who did it and in which request', async () => {
    const { userId, apiKeyId, materialId } = await busyLearner();
    const { nodes, missing, pageInfo } = await timeline(userId);
    expect(nodes.map(brief)).toEqual(ALL);
    expect([missing, pageInfo.hasNextPage]).toEqual([[], false]);
    const [sent, revoked, archived, snoozed, , reviewed, , created] = nodes;
    expect(sent).toMatchObject({ at: '2099-01-01T00:00:00.000Z', delivery: { state: 'SENT' }, actor: null });
    expect(revoked).toMatchObject({ actor: 'gateway/olga', subjectIds: [apiKeyId], material: null });
    expect(archived).toMatchObject({
      actor: 'gateway/olga',
      subjectIds: [materialId],
      material: { title: 'Ohm’s law' },
      requestId: gateway.audited.findLast(({ action }) => action === 'archiveMaterial')?.requestId,
    });
    expect(snoozed).toMatchObject({
      actor: 'gateway/olga',
      subjectIds: [materialId],
      material: { title: 'Ohm’s law' },
      snooze: { cancelledAt: null, cancellableMaterials: 1 },
      requestId: gateway.audited.findLast(({ action }) => action === 'snoozeMaterials')?.requestId,
    });
    expect(reviewed).toMatchObject({
      review: { quality: 4 },
      subjectIds: [materialId],
      actor: null,
      requestId: gateway.audited.findLast(({ action }) => action === 'submitReview')?.requestId,
    });
    expect(created).toMatchObject({ actor: 'keys', requestId: 'test', subjectIds: [apiKeyId] });
  });

  test('has each change of a key once', async () => {
    const { userId } = await system.createUser();
    const made = await change('createApiKey', { userId }, 'apiKey { id }');
    const { apiKey } = await change('rotateApiKey', { apiKeyId: made.apiKey.id }, 'apiKey { id }');
    await change('revokeApiKey', { apiKeyId: apiKey.id }, 'apiKey { id }');
    const { data } = await gateway.query(`{ user(id: "${userId}") { timeline { nodes { kind action } } } }`);
    expect(data.user.timeline.nodes).toEqual(
      ['revokeApiKey', 'rotateApiKey', 'createApiKey', 'createApiKey'].map((action) => ({
        kind: 'KEY',
        action,
      })),
    );
  });

  test('goes on page by page without gap or repetition, whatever happens meanwhile', async () => {
    const { userId, materialId } = await busyLearner();
    const seen: string[] = [];
    let after: string | null = null;
    do {
      const { nodes, pageInfo } = await timeline(userId, { first: 3, after });
      seen.push(...nodes.map(brief));
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
      await change('updateMaterial', { userId, materialId, title: 'Edited' }, 'material { id }');
    } while (after !== null);
    expect(seen).toEqual(ALL);
  });

  test('has a next page where all of this one and of what follows is of one kind', async () => {
    const { userId, materialId } = await busyLearner();
    await change('submitReview', { userId, materialId, quality: 5 }, 'review { id }');
    const first = await timeline(userId, { kinds: ['REVIEW'], first: 1 });
    expect([first.nodes.length, first.pageInfo.hasNextPage]).toEqual([1, true]);
    const after = first.pageInfo.endCursor;
    const second = await timeline(userId, { kinds: ['REVIEW'], first: 1, after });
    expect([second.nodes.length, second.pageInfo.hasNextPage]).toEqual([1, false]);
  });

  test('has what happened in one millisecond by ID, highest first', async () => {
    const { userId } = await system.createUser();
    const ids = ['c', 'b', 'a'].map((digit) => `${digit}0000000-0000-4000-8000-000000000000`);
    reminders.of(userId).deliveries.push(...ids.map((deliveryId) => stubDelivery({ deliveryId })));
    const { nodes } = await timeline(userId, { kinds: ['REMINDER'] });
    expect(nodes.map(({ id }: Event) => id)).toEqual(ids);
  });

  test('has what two services did in one millisecond by ID, highest first', async () => {
    const { userId } = await system.createUser();
    const { material } = await change('createMaterial', { userId, title: 'T' }, 'material { id }');
    await change('submitReview', { userId, materialId: material.id, quality: 4 }, 'review { id }');
    const [{ id, at }] = (await timeline(userId, { kinds: ['REVIEW'] })).nodes;
    const createTime = timestamp(at);
    const ids = ['f', '0'].map((digit) => `${digit}0000000-0000-4000-8000-000000000000`);
    reminders
      .of(userId)
      .deliveries.push(...ids.map((deliveryId) => stubDelivery({ deliveryId, createTime })));
    const { nodes } = await timeline(userId, { kinds: ['REVIEW', 'REMINDER'] });
    expect(nodes.map((event: Event) => event.id)).toEqual([ids[0], id, ids[1]]);
  });

  test('is about the reminder of a delivery, nothing of a test, and the first material of several', async () => {
    const { userId } = await system.createUser();
    const ids: string[] = [];
    for (const title of ['First', 'Second'])
      ids.push((await change('createMaterial', { userId, title }, 'material { id }')).material.id);
    await change('snoozeMaterials', { userId, materialIds: ids, preset: 'TOMORROW' }, 'snooze { id }');
    const reminderId = randomUUID();
    reminders.of(userId).deliveries.push(stubDelivery({ reminderId }), stubDelivery({ isTest: true }));
    const about = async (kind: string) =>
      (await timeline(userId, { kinds: [kind] })).nodes.map(({ subjectIds, material }: Event) => [
        subjectIds,
        material,
      ]);
    expect((await about('REMINDER')).toSorted()).toEqual([
      [[], null],
      [[reminderId], null],
    ]);
    expect(await about('SNOOZE')).toEqual([[ids, { title: 'First' }]]);
  });

  test('goes on after its first and its last event', async () => {
    const { pageInfo } = await timeline(learner.userId, { first: 3 });
    for (const [after, from] of [
      [pageInfo.startCursor, 1],
      [pageInfo.endCursor, 3],
    ])
      expect((await timeline(learner.userId, { after })).nodes.map(brief)).toEqual(ALL.slice(from));
  });

  test.each([
    [['REVIEW'], ['REVIEW']],
    [['SNOOZE'], ['SNOOZE']],
    [['REMINDER'], ['REMINDER']],
    [['KEY'], ['KEY revokeApiKey', 'KEY createApiKey']],
    [
      ['SNOOZE', 'REVIEW'],
      ['SNOOZE', 'REVIEW'],
    ],
    [
      ['OPERATOR'],
      [
        'KEY revokeApiKey',
        'OPERATOR archiveMaterial',
        'OPERATOR snoozeMaterials',
        'OPERATOR submitReview',
        'OPERATOR createMaterial',
      ],
    ],
    [[], ALL],
  ])('has the kinds asked for: %j', async (kinds, found) => {
    expect((await timeline(learner.userId, { kinds })).nodes.map(brief)).toEqual(found);
  });

  test('has a spread of the backlog once: as a snooze, or among the actions of operators', async () => {
    const { userId } = await system.createUser();
    await change('createMaterial', { userId, title: 'Due' }, 'material { id }');
    await change('spreadBacklog', { userId, days: 2 }, 'left');
    const kinds = ['SNOOZE', 'OPERATOR'];
    expect((await timeline(userId, { kinds })).nodes.map(brief)).toEqual([
      'SNOOZE',
      'OPERATOR createMaterial',
    ]);
    expect((await timeline(userId, { kinds: ['OPERATOR'] })).nodes.map(brief)).toEqual([
      'OPERATOR spreadBacklog',
      'OPERATOR createMaterial',
    ]);
  });

  test('takes seven calls at most, and is open to viewers', async () => {
    const rpcs = await gateway.rpcsOf(async () => {
      const { data } = await gateway.query(TIMELINE, { id: learner.userId }, VIEWER);
      expect(data.user.timeline.nodes).toHaveLength(8);
    });
    expect(rpcs.toSorted()).toEqual([
      'batchGetApiKeys',
      'batchGetMaterials',
      'batchGetUsers',
      'listDeliveries',
      'listReviews',
      'listSnoozes',
      'listUserEvents',
    ]);
  });

  test.each([
    'x',
    'MTIz',
    Buffer.from('99999999999999999 x').toString('base64url'),
    Buffer.from(`1 ${'x'.repeat(36)}`).toString('base64url'),
    Buffer.from(`${Date.UTC(9999, 0, 1)} ${randomUUID()}`).toString('base64url'),
    '',
  ])('refuses a cursor that is not its own: %s', async (after) => {
    const { errors } = await gateway.query(TIMELINE, { id: learner.userId, after });
    expect(errors?.[0]?.extensions).toEqual({ code: 'INVALID_REQUEST', field: 'after' });
  });

  test('has an action on a hundred materials with all of them', async () => {
    const { userId } = await system.createUser();
    const materialIds = Array.from({ length: 100 }, () => randomUUID());
    const record = createEventRecorder(gateway.clients.userEvents, createLogger('test', 'silent'));
    const targets = { userId, snoozeId: randomUUID(), materialIds };
    await record('cancelSnooze', targets, { requestId: 'test' });
    const { nodes } = await timeline(userId, { kinds: ['OPERATOR'] });
    expect(nodes).toMatchObject([
      { action: 'cancelSnooze', subjectIds: materialIds, snoozeId: targets.snoozeId },
    ]);
  });

  test('has no event of what changed nothing: a second cancellation, a repeated request', async () => {
    const { userId, materialId, snoozeId } = await busyLearner();
    const requestId = randomUUID();
    const title = 'Repeated';
    for (const _ of ['first', 'again']) {
      await change('cancelSnooze', { userId, snoozeId }, 'materialIds');
      await change('createMaterial', { userId, title, requestId }, 'material { id }');
    }
    const { nodes } = await timeline(userId, { kinds: ['OPERATOR'], first: 2 });
    expect(nodes.map(brief)).toEqual(['OPERATOR createMaterial', 'OPERATOR cancelSnooze']);
    expect(nodes[1]).toMatchObject({ subjectIds: [materialId], snoozeId });
  });

  test('has no event of a spread that moves nothing: with nothing due, or as a dry run', async () => {
    const { userId } = await system.createUser();
    await change('spreadBacklog', { userId, days: 2 }, 'left');
    await change('createMaterial', { userId, title: 'Due' }, 'material { id }');
    await change('spreadBacklog', { userId, days: 2, dryRun: true }, 'left');
    const { nodes } = await timeline(userId, { kinds: ['OPERATOR'] });
    expect(nodes.map(brief)).toEqual(['OPERATOR createMaterial']);
  });

  test('has one event of a deletion that is sent twice under one request ID', async () => {
    const { userId } = await system.createUser();
    const { material } = await change('createMaterial', { userId, title: 'Gone' }, 'material { id }');
    const deletion = { userId, materialId: material.id, requestId: randomUUID() };
    for (const _ of ['first', 'again']) await change('deleteMaterial', deletion, 'materialId');
    const { nodes } = await timeline(userId, { kinds: ['OPERATOR'] });
    expect(nodes.map(brief)).toEqual(['OPERATOR deleteMaterial', 'OPERATOR createMaterial']);
  });

  test.each<[mutation: string, first: object, again: object, selection: string]>([
    ['archiveMaterial', {}, {}, 'material { id }'],
    ['restoreMaterial', {}, {}, 'material { id }'],
    ['updateMaterial', { title: 'Volt', labels: ['A'] }, { labels: ['A'] }, 'material { id }'],
    ['updateMaterial', { content: 'U = R I' }, { content: 'U = R I', title: 'Ohm’s law' }, 'material { id }'],
    ['undoReview', {}, {}, 'review { id }'],
    ['updateLearnerSettings', { scheduler: 'FSRS' }, { desiredRetention: 0.9 }, 'settings { scheduler }'],
    ['updateUser', { firstName: 'Ada' }, { firstName: 'Ada', timeZone: 'UTC' }, 'user { id }'],
  ])('has no event of what was so already: of two %s, one', async (name, first, again, selection) => {
    const { userId } = await system.createUser();
    const { material } = await change('createMaterial', { userId, title: 'Ohm’s law' }, 'material { id }');
    const { review } = await change(
      'submitReview',
      { userId, materialId: material.id, quality: 4 },
      'review { id }',
    );
    if (name === 'restoreMaterial')
      await change('archiveMaterial', { userId, materialId: material.id }, 'material { id }');
    const target =
      name === 'undoReview' ? { reviewId: review.id } : /Material/.test(name) && { materialId: material.id };
    await change(name, { userId, ...target, ...first }, selection);
    await change(name, { userId, ...target, ...again }, selection);
    const { nodes } = await timeline(userId, { kinds: ['OPERATOR'], first: 2 });
    expect(nodes.map(brief)).toEqual([
      `OPERATOR ${name}`,
      `OPERATOR ${name === 'restoreMaterial' ? 'archiveMaterial' : 'submitReview'}`,
    ]);
  });

  test('names the key whose request it was, and the keys that were acted on', async () => {
    const { userId, materialId } = await busyLearner();
    const phone = await change(
      'createApiKey',
      { userId, name: 'Phone', scopes: ['snooze:write', 'reviews:write'] },
      KEY,
    );
    const next = await change('rotateApiKey', { apiKeyId: phone.apiKey.id }, KEY);
    const api = createApi(`${system.origins[0]}/v1`, phone.key);
    await api.post(`/reviews/${materialId}`, { quality: 3 });
    await api.post(`/materials/${materialId}/snooze`, { preset: 'tomorrow' });
    const { nodes } = await timeline(userId, { kinds: ['REVIEW', 'SNOOZE', 'KEY'], first: 4 });
    expect(nodes).toMatchObject([
      { kind: 'SNOOZE', actor: 'rest', apiKey: phone.apiKey, apiKeys: [] },
      { kind: 'REVIEW', apiKey: phone.apiKey },
      { action: 'rotateApiKey', apiKey: null, apiKeys: [next.apiKey, phone.apiKey] },
      { action: 'createApiKey', apiKeys: [{ name: 'Phone' }] },
    ]);
  });

  test('names the fields that an update set, without their values', async () => {
    const { userId } = await system.createUser();
    await change('updateUser', { userId, timeZone: 'Asia/Tokyo', firstName: 'Grace' }, 'user { id }');
    const made = await change('createMaterial', { userId, title: 'Ohm’s law' }, 'material { id }');
    const edit = { userId, materialId: made.material.id, labels: ['Physics'], requestId: 'r-1' };
    await change('updateMaterial', edit, 'material { id }');
    const { nodes } = await timeline(userId, { kinds: ['OPERATOR'] });
    expect(nodes.map(({ action, fields }: { action: string; fields: string[] }) => [action, fields])).toEqual(
      [
        ['updateMaterial', ['labels']],
        ['createMaterial', []],
        ['updateUser', ['firstName', 'timeZone']],
      ],
    );
  });

  test('keeps no title, reason or key', async () => {
    const { userId } = await busyLearner();
    const { events } = await gateway.clients.userEvents.listUserEvents({ userId }, { requestId: 'test' });
    expect(events).toHaveLength(6);
    expect(JSON.stringify(events)).not.toMatch(/Ohm|holiday|rmk_live_/);
  });
});

describe('while a service does not answer', () => {
  test.each([
    ['listDeliveries', ['REMINDER'], ALL.slice(1)],
    ['listReviews', ['REVIEW'], ALL.filter((line) => line !== 'REVIEW')],
    ['listSnoozes', ['SNOOZE'], ALL.filter((line) => line !== 'SNOOZE')],
    ['listUserEvents', ['KEY', 'OPERATOR'], ['REMINDER', 'SNOOZE', 'REVIEW']],
  ])('of %s, the timeline says that %j is missing, and has the rest', async (rpc, kinds, rest) => {
    const before = lines.length;
    away.add(rpc);
    const { nodes, missing } = await timeline(learner.userId);
    away.clear();
    expect(nodes.map(brief)).toEqual(rest);
    expect(missing.map(({ kind }: { kind: string }) => kind)).toEqual(kinds);
    const logged = lines.slice(before);
    expect(logged.map(({ msg, kinds }) => [msg, kinds])).toEqual([['a timeline lacks a part', kinds]]);
    expect(logged[0]?.requestId).toBe(missing[0].requestId);
  });

  test('only what was asked for is missing', async () => {
    away.add('listUserEvents');
    const { missing } = await timeline(learner.userId, { kinds: ['KEY', 'REVIEW'] });
    away.clear();
    expect(missing.map(({ kind }: { kind: string }) => kind)).toEqual(['KEY']);
  });

  test('any other error is that of the whole timeline', async () => {
    broken.add('listSnoozes');
    const { errors } = await gateway.query(TIMELINE, { id: learner.userId });
    broken.clear();
    expect(errors?.map(({ extensions, path }) => [extensions.code, path])).toEqual([
      ['INTERNAL_ERROR', ['user', 'timeline']],
    ]);
  });

  test('events of materials are there without their titles', async () => {
    for (const rpc of ['listReviews', 'listSnoozes', 'batchGetMaterials']) away.add(rpc);
    const { nodes } = await timeline(learner.userId);
    away.clear();
    expect(nodes.map(({ action, material }: Event) => [action, material])).toContainEqual([
      'archiveMaterial',
      null,
    ]);
  });

  test('an action that cannot be recorded is done, and that is logged once', async () => {
    const { userId, materialId } = await busyLearner();
    const before = lines.length;
    away.add('recordUserEvent');
    const { material } = await change('restoreMaterial', { userId, materialId }, 'material { archivedAt }');
    away.clear();
    expect(material).toEqual({ archivedAt: null });
    expect(lines.slice(before).map(({ msg, action }) => [msg, action])).toEqual([
      ['an event of a user was not recorded', 'restoreMaterial'],
    ]);
    expect((await timeline(userId)).nodes.map(brief)).toEqual(ALL);
  });

  test('an action is answered once it is recorded', async () => {
    const order: string[] = [];
    const slow = await startTestGateway(system, undefined, async (rpc, make) => {
      const made = await make();
      if (rpc !== 'recordUserEvent') return made;
      for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
      order.push('recorded');
      return made;
    });
    const { userId } = await system.createUser();
    const query = `mutation { updateUser(input: {userId: "${userId}", firstName: "Ada"}) { user { id } } }`;
    await slow.query(query).then(() => order.push('answered'));
    await expect.poll(() => order).toEqual(['recorded', 'answered']);
    await slow.stop();
  });

  test('a timeline without reminders has the rest, and misses nothing', async () => {
    const without = await startTestGateway(system);
    const { data } = await without.query(TIMELINE, { id: learner.userId });
    expect(data.user.timeline.nodes.map(brief)).toEqual(ALL.slice(1));
    expect(data.user.timeline.missing).toEqual([]);
    await without.stop();
  });
});

describe('a snooze that is cancelled', () => {
  test('stays in the timeline as cancelled, with who did it, and is due again', async () => {
    const { userId, materialId, snoozeId } = await busyLearner();
    const before = gateway.audited.length;
    const done = await change('cancelSnooze', { userId, snoozeId }, 'snoozeId materialIds');
    expect(done).toEqual({ snoozeId, materialIds: [materialId] });
    expect(gateway.audited.slice(before)).toMatchObject([
      { action: 'cancelSnooze', outcome: 'ok', targets: { userId, snoozeId, materialIds: [materialId] } },
    ]);
    const { nodes } = await timeline(userId, { kinds: ['SNOOZE', 'OPERATOR'], first: 4 });
    expect(nodes.map(brief).slice(0, 1)).toEqual(['OPERATOR cancelSnooze']);
    expect(nodes[0]).toMatchObject({
      actor: 'gateway/olga',
      subjectIds: [materialId],
      snoozeId,
      material: { title: 'Ohm’s law' },
    });
    const { snooze } = nodes.find(({ kind }: Event) => kind === 'SNOOZE');
    expect(snooze).toEqual({
      id: snoozeId,
      cancellableMaterials: 0,
      cancelledAt: expect.stringMatching(/^20\d\d-/),
    });
    const again = await change('cancelSnooze', { userId, snoozeId }, 'materialIds');
    expect(again).toEqual({ materialIds: [] });
  });

  test('is refused for viewers, and for a snooze of another user', async () => {
    const { userId, snoozeId } = await busyLearner();
    const CANCEL = 'mutation ($input: CancelSnoozeInput!) { cancelSnooze(input: $input) { snoozeId } }';
    const refused = await gateway.query(CANCEL, { input: { userId, snoozeId } }, VIEWER);
    expect(refused.errors?.[0]?.extensions.code).toBe('INSUFFICIENT_SCOPE');
    const { userId: stranger } = await system.createUser();
    const unknown = await gateway.query(CANCEL, { input: { userId: stranger, snoozeId } });
    expect(unknown.errors?.[0]?.extensions.code).toBe('NOT_FOUND');
  });
});

describe('a review that is undone', () => {
  async function reviewed() {
    const { userId } = await system.createUser();
    const { material } = await change('createMaterial', { userId, title: 'Ohm’s law' }, 'material { id }');
    const input = { userId, materialId: material.id, quality: 1 };
    const { review } = await change('submitReview', input, 'review { id }');
    return { userId, materialId: material.id, reviewId: review.id };
  }
  const UNDO = `mutation ($input: UndoReviewInput!) { undoReview(input: $input) {
    material { repetitions ef lastReviewed } review { id undoneAt undoneBy scheduler } } }`;
  const undo = (input: object, token?: string) => gateway.query(UNDO, { input }, token);
  const codeOf = async (answer: ReturnType<typeof undo>) => (await answer).errors?.[0]?.extensions.code;

  test('stays in the timeline beside its undo, with who did it', async () => {
    const { userId, materialId, reviewId } = await reviewed();
    const { data } = await undo({ userId, reviewId });
    const undone = { id: reviewId, undoneAt: expect.any(String), undoneBy: 'gateway/olga', scheduler: 'SM2' };
    const material = { repetitions: 0, ef: 2.5, lastReviewed: null };
    expect(data.undoReview).toEqual({ material, review: undone });
    expect((await undo({ userId, reviewId })).data).toEqual(data);
    expect(gateway.audited.at(-1)).toMatchObject({
      action: 'undoReview',
      outcome: 'ok',
      targets: { userId, materialId, reviewId },
    });
    const { nodes } = await timeline(userId, { kinds: ['REVIEW', 'OPERATOR'] });
    expect(nodes.map(brief).slice(-4)).toEqual([
      'OPERATOR undoReview',
      'OPERATOR submitReview',
      'REVIEW',
      'OPERATOR createMaterial',
    ]);
  });

  test('has an undo with one subject, the material, also if it was made with a key', async () => {
    const { userId, key } = await system.createUser(['reviews:write']);
    const { material } = await change('createMaterial', { userId, title: 'Ohm’s law' }, 'material { id }');
    await createApi(`${system.origins[0]}/v1`, key).post(`/reviews/${material.id}`, { quality: 4 });
    const [review] = (await timeline(userId, { kinds: ['REVIEW'] })).nodes;
    await undo({ userId, reviewId: review.id });
    expect(gateway.audited.at(-1)?.targets).toEqual({
      userId,
      materialId: material.id,
      reviewId: review.id,
    });
    const [undone] = (await timeline(userId, { kinds: ['OPERATOR'], first: 1 })).nodes;
    expect(undone).toMatchObject({ action: 'undoReview', subjectIds: [material.id] });
  });

  test('is refused with the reason, for viewers and for another user', async () => {
    const { userId, materialId, reviewId } = await reviewed();
    expect(await codeOf(undo({ userId, reviewId }, VIEWER))).toBe('INSUFFICIENT_SCOPE');
    const { userId: stranger } = await system.createUser();
    expect(await codeOf(undo({ userId: stranger, reviewId }))).toBe('NOT_FOUND');
    await change('updateMaterial', { userId, materialId, title: 'New' }, 'material { id }');
    expect(await codeOf(undo({ userId, reviewId }))).toBe('MATERIAL_CHANGED');
    expect(gateway.audited.at(-1)).toMatchObject({ action: 'undoReview', outcome: 'MATERIAL_CHANGED' });
    await change('submitReview', { userId, materialId, quality: 4 }, 'review { id }');
    expect((await undo({ userId, reviewId })).errors?.[0]).toMatchObject({
      message: 'Only the latest review of a material can be undone.',
      extensions: { code: 'REVIEW_NOT_LATEST' },
    });
  });
});

let system: Given<'system'>['system'];
let reminders: Awaited<ReturnType<typeof startStubReminders>>;
let gateway: TestGateway;
/** Whom the tests only read. */
let learner: Awaited<ReturnType<typeof busyLearner>>;
const lines: Line[] = [];
/** RPCs that are answered with UNAVAILABLE. */
const away = new Set<string>();
/** RPCs that are answered with INTERNAL_ERROR. */
const broken = new Set<string>();

async function startAll({ system: shared }: Given<'system'>): Promise<void> {
  system = shared;
  reminders = await startStubReminders();
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const around = (rpc: string, make: () => unknown) => {
    if (away.has(rpc)) return Promise.reject(new ServiceError('UNAVAILABLE'));
    return broken.has(rpc) ? Promise.reject(new ServiceError('INTERNAL_ERROR')) : make();
  };
  gateway = await startTestGateway({ ...system, remindersTarget: reminders.target }, logger, around);
  learner = await busyLearner();
}

async function stopAll(): Promise<void> {
  await gateway.stop();
  await reminders.stop();
}

const KEY = 'key apiKey { id name }';

async function change(name: string, input: object, fields: string) {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input!`.replace(
    /^(Archive|Restore|Delete)MaterialInput/,
    'MaterialInput',
  );
  const { data, errors } = await gateway.query(
    `mutation ($input: ${type}) { done: ${name}(input: $input) { ${fields} } }`,
    { input },
  );
  if (errors !== undefined) throw new Error(JSON.stringify(errors));
  return data.done;
}

async function timeline(id: string, variables: object = {}) {
  const { data, errors } = await gateway.query(TIMELINE, { id, ...variables });
  if (errors !== undefined) throw new Error(JSON.stringify(errors));
  return data.user.timeline;
}

/** A learner with one of everything; the reminder is the newest by far. */
async function busyLearner() {
  const { userId, apiKeyId } = await system.createUser(['profile:read']);
  const { material } = await change('createMaterial', { userId, title: 'Ohm’s law' }, 'material { id }');
  const materialId: string = material.id;
  await change('submitReview', { userId, materialId, quality: 4 }, 'review { id }');
  // Beyond the day after the review, so that it puts the material off.
  const snoozeUntil = new Date(Date.now() + 3 * 86_400_000).toISOString();
  const snoozed = { userId, materialIds: [materialId], snoozeUntil, reason: 'A holiday' };
  const { snooze } = await change('snoozeMaterials', snoozed, 'snooze { id }');
  await change('archiveMaterial', { userId, materialId }, 'material { id }');
  await change('revokeApiKey', { apiKeyId }, 'apiKey { id }');
  const createTime = timestamp('2099-01-01T00:00:00Z');
  reminders.of(userId).deliveries.push(stubDelivery({ state: 'DELIVERY_STATE_SENT', createTime }));
  return { userId, apiKeyId, materialId, snoozeId: snooze.id as string };
}

type Event = {
  id: string;
  kind: string;
  at: string;
  action: string | null;
  actor: string | null;
  requestId: string | null;
  subjectIds: string[];
  material: { title: string } | null;
};
type Line = Record<string, unknown>;

const TIMELINE = `query ($id: ID!, $kinds: [TimelineKind!], $first: Int, $after: String) {
  user(id: $id) {
    timeline(kinds: $kinds, first: $first, after: $after) {
      nodes {
        id kind at action actor requestId subjectIds fields snoozeId material { title } apiKey { id name } apiKeys { id name }
        review { quality } snooze { id cancelledAt cancellableMaterials } delivery { state }
      }
      pageInfo { hasNextPage startCursor endCursor }
      missing { kind requestId }
    }
  }
}`;

const brief = ({ kind, action }: Event) => (action === null ? kind : `${kind} ${action}`);
