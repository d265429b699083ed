import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { type Api, createApi, errorOf, materialsOf } from '../support/api.ts';
import type { TestSystem, TestUser } from '../support/system.ts';
import {
  BAD_INSTANTS,
  BAD_LIMITS,
  BAD_PRESETS,
  BAD_URIS,
  BROKEN_BODIES,
  GOOD_URIS,
  MEDIA_TYPES,
  NOT_STRINGS,
  QUALITIES,
  quoted,
  TITLES,
  UNSTORABLE,
} from './bad-values.ts';

test.beforeAll(prepare);

describe('bad input is 400 and names the field', () => {
  test.each(TITLES)('title %s', (title) =>
    expectField('/materials', 'title', { body: `{"title":${title}}` }),
  );
  test.each([...NOT_STRINGS, ...UNSTORABLE])('content %s', (content) =>
    expectField('/materials', 'content', { body: `{"title":"a","content":${content}}` }),
  );
  test.each([...NOT_STRINGS, ...UNSTORABLE, ...BAD_URIS.map(quoted)])('sourceUrl %s', (url) =>
    expectField('/materials', 'sourceUrl', { body: `{"title":"a","sourceUrl":${url}}` }),
  );
  test.each([...NOT_STRINGS, '""', '"Simple"', '"note"', '" simple"', '"simple\\u0000"', '"toString"'])(
    'type %s',
    (type) => expectField('/materials', 'type', { body: `{"title":"a","type":${type}}` }),
  );
  test.each(QUALITIES)('quality %s', (quality) =>
    expectField(`/reviews/${materialId}`, 'quality', { body: `{"quality":${quality}}` }),
  );
  test.each([...NOT_STRINGS, ...BAD_INSTANTS.map(quoted)])('snoozeUntil %s', async (instant) => {
    await expectField(`/materials/${materialId}/snooze`, 'snoozeUntil', {
      body: `{"snoozeUntil":${instant}}`,
    });
    await expectField(`/materials/${materialId}/snooze`, 'snoozeUntil', {
      body: `{"preset":"1h","snoozeUntil":${instant}}`,
    });
  });
  test.each([...NOT_STRINGS, ...BAD_PRESETS.map(quoted)])('preset %s', async (preset) => {
    await expectField(`/materials/${materialId}/snooze`, 'preset', { body: `{"preset":${preset}}` });
    const both = `{"snoozeUntil":"2999-01-01T00:00:00Z","preset":${preset}}`;
    await expectField(`/materials/${materialId}/snooze`, 'preset', { body: both });
  });
  test.each([...NOT_STRINGS, ...UNSTORABLE, quoted('x'.repeat(501))])('reason %s', (reason) =>
    expectField(`/materials/${materialId}/snooze`, 'reason', { body: `{"preset":"1h","reason":${reason}}` }),
  );
  test.each(BAD_LIMITS)('limit=%s on all three lists', async (limit) => {
    for (const path of ['/materials?', '/reviews/due?', '/search?q=a&']) {
      await expectField(`${path}limit=${limit}`, 'limit', {}, 'GET');
    }
  });
  test.each([
    '/search',
    '/search?q=',
    '/search?q',
    '/search?limit=5',
    '/search?q=a&q=b',
    '/search?q=%00',
    '/search?q=%ff',
    '/search?q=%zz',
    '/search?q=%ed%a0%80',
    '/materials?q=a&q=b',
    '/materials?q=%00',
    '/materials?q=%',
    `/search?q=${'x'.repeat(1025)}`,
    `/materials?q=${'%C3%A9'.repeat(513)}`,
  ])('q in %s', (path) => expectField(path, 'q', {}, 'GET'));
  test.each(BROKEN_BODIES)('body %j', async (body) => {
    for (const path of writes()) await expectField(path, 'body', { body });
  });
  test.each(MEDIA_TYPES)('media type %s', async (type) => {
    for (const path of writes())
      await expectField(path, 'body', { body: '{"title":"a"}', headers: { 'content-type': type } });
  });
  test.each(['gzip', 'br', 'deflate', 'identity, gzip', 'x'])('Content-Encoding %s', async (encoding) => {
    for (const path of writes())
      await expectField(path, 'body', { body: '{"title":"a"}', headers: jsonIn(encoding) });
  });
  test('no body, too large a body, a body that is not UTF-8', async () => {
    for (const path of writes()) {
      await expectField(path, 'body', {});
      await expectField(path, 'body', { body: `{"title":"a","x":"${'y'.repeat(256 * 1024)}"}` });
      await expectField(path, 'body', { body: new Uint8Array([0x22, 0xff, 0x22]) });
    }
  });
  test.each(['title', 'quality', 'snoozeUntil'])('%s missing', async (field) => {
    const path =
      {
        title: '/materials',
        quality: `/reviews/${materialId}`,
        snoozeUntil: `/materials/${materialId}/snooze`,
      }[field] ?? '';
    for (const body of [
      '{}',
      '{"x":1}',
      '{"Title":"a","Quality":1}',
      '{"__proto__":{"title":"a","quality":1,"preset":"1h"}}',
    ]) {
      await expectField(path, field, { body });
    }
  });
  test.each(['/materials/%', '/reviews/%zz', '/%ff', '/materials/%E0%A4%A/snooze'])('the path %s', (path) =>
    expectField(path, 'path', {}, 'POST'),
  );

  const writes = () => ['/materials', `/reviews/${materialId}`, `/materials/${materialId}/snooze`];
});

describe('unusual but legal input is taken', () => {
  test.each(GOOD_URIS)('sourceUrl %s', async (sourceUrl) => {
    expect(await api.create({ title: 'a', sourceUrl })).toMatchObject({ sourceUrl });
  });
  test('240 code points, white space, unknown fields, null bytes nowhere', async () => {
    const title = '😀'.repeat(240);
    expect((await api.create({ title, extra: { deep: [1] } })).title).toBe(title);
    expect((await api.create({ title: ' ' })).title).toBe(' ');
    const odd = await api.post('/materials', undefined, {
      body: '{"title":"a","constructor":{"prototype":1},"title":"b"}',
    });
    expect(odd.status).toBe(201);
  });
  test('32 query parameters, of which those that mean nothing are ignored', async () => {
    for (const path of ['/me', '/materials', '/reviews/due', '/search'])
      expect((await api.get(`${path}?q=a${'&x=%ff'.repeat(31)}`)).status, path).toBe(200);
  });
  test.each(['/search', '/materials'])('q of 1,024 bytes on %s', async (path) => {
    const title = '😀'.repeat(240);
    const { id } = await api.create({ title, content: 'é'.repeat(512) });
    for (const q of [title, 'É'.repeat(512)]) {
      const found = materialsOf(await api.get(`${path}?q=${encodeURIComponent(q)}`));
      expect(found[0]?.id, q.slice(0, 2)).toBe(id);
    }
  });
  test('3.0 is 3, and deep nesting in an unknown field is no matter', async () => {
    expect((await api.post(`/reviews/${materialId}`, undefined, { body: '{"quality":3.0}' })).status).toBe(
      200,
    );
    const deep = `{"title":"a","x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
    expect((await api.post('/materials', undefined, { body: deep })).status).toBe(201);
  });
  test.each([
    ['2999-01-01t00:00:00z', '2999-01-01T00:00:00.000Z'],
    ['2999-01-01T00:00:00.123987+05:45', '2998-12-31T18:15:00.123Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['2996-02-29T00:00:00-00:00', '2996-02-29T00:00:00.000Z'],
  ])('snoozeUntil %s is %s', async (snoozeUntil, expected) => {
    const { id } = await api.create({ title: 'a' });
    const { body } = await api.post(`/materials/${id}/snooze`, { snoozeUntil });
    expect(body).toMatchObject({ snooze: { snoozeUntil: expected } });
  });
  test('application/json with a charset', async () => {
    const headers = { 'content-type': 'Application/JSON; charset=utf-8' };
    expect((await api.post('/materials', undefined, { body: '{"title":"a"}', headers })).status).toBe(201);
  });
  test.each(['identity', ' Identity ', ''])('Content-Encoding "%s"', async (encoding) => {
    const options = { body: '{"title":"a"}', headers: jsonIn(encoding) };
    expect((await api.post('/materials', undefined, options)).status).toBe(201);
  });
  test('a Content-Encoding without a body', async () => {
    const headers = { 'content-encoding': 'gzip' };
    expect((await api.request('GET', '/materials', { headers })).status).toBe(200);
  });
});

let system: TestSystem;
let user: TestUser;
let api: Api;
let materialId: string;

async function prepare({ system: shared }: Given<'system'>): Promise<void> {
  system = shared;
  user = await system.createUser();
  api = createApi(`${system.origins[0]}/v1`, user.key);
  materialId = (await api.create({ title: 'Target' })).id;
}

async function expectField(
  path: string,
  field: string,
  options: Parameters<Api['request']>[2],
  method = 'POST',
) {
  const answer = await api.request(method, path, options);
  const context = `${method} ${path.slice(0, 80)} ${String(options?.body).slice(0, 120)}`;
  expect(answer.status, context).toBe(400);
  expect(errorOf(answer).code, context).toBe('invalid_request');
  expect(errorOf(answer).details?.field, context).toBe(field);
}

const jsonIn = (encoding: string) => ({
  'content-type': 'application/json',
  'content-encoding': encoding,
});
