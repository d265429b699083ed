import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Api, createApi, errorOf } from '../support/api.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

beforeAll(startAll);
afterAll(() => here.stop());

describe('a write with an Idempotency-Key', () => {
  test('is done once and answered alike, on each of the three endpoints', async () => {
    const writes = [
      ['/materials', { title: 'Once', content: 'é\r\n"' }],
      [`/reviews/${materialId}`, { quality: 4 }],
      [`/materials/${materialId}/snooze`, { preset: '1h', reason: 'r' }],
    ] as const;
    for (const [path, json] of writes) {
      const first = await api.post(path, json, withKey('k'));
      const second = await api.post(path, json, withKey('k'));
      expect([replayed(first), replayed(second)]).toEqual([null, 'true']);
      expect([second.status, second.body]).toEqual([first.status, first.body]);
      const other = await api.post(path, json, withKey('another'));
      expect(replayed(other)).toBeNull();
      expect(other.body).not.toEqual(first.body);
    }
  });

  test('is applied once among ten at the same moment, over two facades', async () => {
    const { key } = await here.createUser();
    const apis = here.origins.map((origin) => createApi(`${origin}/v1`, key));
    const [first] = apis;
    const { id } = (await first?.create({ title: 'T' })) ?? { id: '' };
    // Again where a busy machine takes longer than a request may wait for the material.
    const review = async (index: number) => {
      const post = () =>
        apis[index % 2]?.post(`/reviews/${id}`, { quality: 5 }, { ...withKey('k'), mayBeUnavailable: true });
      let answer = await post();
      while (answer?.status === 503) answer = await post();
      return answer;
    };
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => review(index)));
    expect(answers.map((answer) => answer?.status)).toEqual(Array(10).fill(200));
    for (const answer of answers) expect(answer?.body).toEqual(answers[0]?.body);
    expect(answers.filter((answer) => answer && replayed(answer) === null)).toHaveLength(1);
    const { body } = (await first?.get('/materials')) ?? { body: undefined };
    expect(body).toMatchObject({ materials: [{ repetitions: 1, ef: 2.6 }] });
  });

  test('is answered alike after the user has moved to another time zone', async () => {
    const { userId, key } = await here.createUser();
    const own = createApi(`${here.origins[0]}/v1`, key);
    const { id } = await own.create({ title: 'T' });
    const snooze = (json: object, name: string) => own.post(`/materials/${id}/snooze`, json, withKey(name));
    const bodies = { preset: { preset: 'tomorrow' }, instant: { snoozeUntil: '2999-01-01T00:00:00Z' } };
    const firsts = [await snooze(bodies.preset, 'preset'), await snooze(bodies.instant, 'instant')];
    await here.accounts.users.updateUser({ userId, timeZone: 'Asia/Tokyo' }, { requestId: 'test' });
    // In Tokyo 09:00 is midnight in UTC: the facade knows of the move.
    await expect
      .poll(async () => (await snooze(bodies.preset, crypto.randomUUID())).body)
      .toMatchObject({ snooze: { snoozeUntil: expect.stringMatching(/T00:00:00.000Z$/) } });
    const seconds = [await snooze(bodies.preset, 'preset'), await snooze(bodies.instant, 'instant')];
    expect(seconds.map(replayed)).toEqual(['true', 'true']);
    expect(seconds.map(({ body }) => body)).toEqual(firsts.map(({ body }) => body));
  });

  test('is refused with a key that is none, and what failed is not remembered', async () => {
    for (const bad of ['', 'x'.repeat(256), 'é']) {
      const answer = await api.post('/materials', { title: 'A' }, withKey(bad));
      expect([answer.status, errorOf(answer).details?.field], bad.slice(0, 5)).toEqual([
        400,
        'Idempotency-Key',
      ]);
    }
    const missing = '/reviews/01900000-0000-7000-8000-000000000000';
    expect((await api.post(missing, { quality: 1 }, withKey('failed'))).status).toBe(404);
    expect((await api.post(`/reviews/${materialId}`, { quality: 1 }, withKey('failed'))).status).toBe(200);
  });

  describe('of another write is refused, and that write is not done', () => {
    const REFUSED = {
      code: 'invalid_request',
      message: 'Idempotency-Key was used for another write within the last 24 hours.',
      details: { field: 'Idempotency-Key' },
    };
    const SIMPLE = { title: 'T', content: 'c', sourceUrl: 'https://example.com/', type: 'simple' };
    const UNTIL = { snoozeUntil: '2999-01-01T00:00:00Z', reason: 'r' };
    const of = (id: string, what: string) =>
      what === 'review' ? `/reviews/${id}` : `/materials/${id}/snooze`;

    test.each<[string, string, object, object]>([
      ['title', 'create', SIMPLE, { ...SIMPLE, title: 'U' }],
      ['content', 'create', SIMPLE, { ...SIMPLE, content: 'd' }],
      ['no content', 'create', SIMPLE, { ...SIMPLE, content: undefined }],
      ['sourceUrl', 'create', SIMPLE, { ...SIMPLE, sourceUrl: 'https://example.com/a' }],
      ['type', 'create', SIMPLE, { ...SIMPLE, type: 'card' }],
      ['quality', 'review', { quality: 0 }, { quality: 1 }],
      ['snoozeUntil', 'snooze', UNTIL, { ...UNTIL, snoozeUntil: '2999-01-01T00:00:01Z' }],
      ['reason', 'snooze', UNTIL, { ...UNTIL, reason: 's' }],
      ['preset', 'snooze', { preset: '1h' }, { preset: 'tomorrow' }],
      ['a preset for an instant', 'snooze', { preset: '1h' }, { snoozeUntil: '2999-01-01T00:00:00Z' }],
    ])('%s', async (name, what, first, second) => {
      const key = withKey(`other ${name}`);
      const path = what === 'create' ? '/materials' : of(materialId, what);
      const done = await api.post(path, first, key);
      const state = async () => [(await api.get('/materials?limit=100')).body];
      const before = await state();
      const refused = await api.post(path, second, key);
      expect([refused.status, errorOf(refused)]).toEqual([400, REFUSED]);
      expect(await state()).toEqual(before);
      const again = await api.post(path, first, key);
      expect([again.status, again.body, replayed(again)]).toEqual([done.status, done.body, 'true']);
    });

    test.each(['review', 'snooze'])('a %s of another material', async (what) => {
      const { id } = await api.create({ title: 'Another' });
      const body = what === 'review' ? { quality: 3 } : { preset: '1h' };
      await api.post(of(materialId, what), body, withKey(`of another ${what}`));
      const refused = await api.post(of(id, what), body, withKey(`of another ${what}`));
      expect([refused.status, errorOf(refused)]).toEqual([400, REFUSED]);
    });

    test('but for one of the same user’s other key, which is answered alike', async () => {
      const user = await here.createUser();
      const second = await here.createKey(user.userId, ['materials:write']);
      const own = createApi(`${here.origins[0]}/v1`, user.key);
      const first = await own.post('/materials', { title: 'T' }, withKey('k'));
      const again = await own.post('/materials', { title: 'T' }, { ...withKey('k'), key: second.key });
      expect([again.status, again.body, replayed(again)]).toEqual([201, first.body, 'true']);
    });
  });

  test('has 1 to 255 characters, and is another by one letter’s case or a space within', async () => {
    const ask = (key: string) => api.post('/materials', { title: 'T' }, withKey(key));
    for (const key of ['k'.repeat(255), 'K'.repeat(255), '!', '~', 'a b', 'a  b']) {
      expect(replayed(await ask(key)), key.slice(0, 5)).toBeNull();
      expect(replayed(await ask(key)), key.slice(0, 5)).toBe('true');
    }
  });

  test('needs the scope all the same, and counts as a write', async () => {
    const user = await here.createUser();
    const own = createApi(`${here.origins[0]}/v1`, user.key);
    await own.post('/materials', { title: 'A' }, withKey('k'));
    const reader = await here.createKey(user.userId, ['materials:read']);
    const forbidden = await own.post('/materials', { title: 'A' }, { ...withKey('k'), key: reader.key });
    expect(forbidden.status).toBe(403);
    const left = async () =>
      /r=(\d+)/.exec(
        (await own.post('/materials', { title: 'A' }, withKey('k'))).headers.get('ratelimit') ?? '',
      )?.[1];
    expect(Number(await left()) - Number(await left())).toBe(1);
  });

  test('is another for another user', async () => {
    const [a, b] = [await here.createUser(), await here.createUser()];
    const made = await Promise.all(
      [a, b].map(({ key }) =>
        createApi(`${here.origins[0]}/v1`, key).post('/materials', { title: 'A' }, withKey('k')),
      ),
    );
    expect(made.map((answer) => [answer.status, replayed(answer)])).toEqual([
      [201, null],
      [201, null],
    ]);
  });
});

let here: TestSystem;
let api: Api;
let materialId: string;

async function startAll(): Promise<void> {
  here = await startSystem({ facades: 2 });
  const { key } = await here.createUser();
  api = createApi(`${here.origins[0]}/v1`, key);
  materialId = (await api.create({ title: 'T' })).id;
}

const withKey = (key: string) => ({ headers: { 'idempotency-key': key } });

const replayed = ({ headers }: { headers: Headers }) => headers.get('idempotent-replayed');
