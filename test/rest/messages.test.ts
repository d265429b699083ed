import { expect } from 'vitest';
import { test } from '../fixtures.ts';
import { errorOf } from '../support/api.ts';

test.for<[string, string, object | undefined, string]>([
  ['GET', '/search?q=a&q=b', undefined, 'q must be given once, in percent-encoded UTF-8'],
  ['GET', '/search?q=%00', undefined, 'q must not hold U+0000 or half of a surrogate pair'],
  ['GET', '/search', undefined, "must have required property 'q'"],
  ['GET', '/materials?limit=0', undefined, 'limit must be >= 1'],
  ['POST', '/materials', {}, "must have required property 'title'"],
  ['POST', '/materials', { title: '\u0000' }, 'title must not hold U+0000 or half of a surrogate pair'],
  [
    'POST',
    '/materials',
    { title: 'a', sourceUrl: 'https://example.com/list?ids[]=1' },
    'sourceUrl must be a URI with a scheme, with characters such as é, | and [ percent-encoded',
  ],
  [
    'POST',
    '/materials/x/snooze',
    { snoozeUntil: 'soon' },
    'snoozeUntil must be a time with an offset, such as 2026-12-01T10:00:00Z',
  ],
  [
    'POST',
    '/materials',
    { title: 'a', type: 'book' },
    'type must be one of simple, material, flashcard, card',
  ],
  ['POST', '/materials/x/snooze', { preset: 'someday' }, 'preset must be one of 1h, tomorrow, tonight'],
  ['POST', '/materials/x/snooze', {}, 'must have snoozeUntil or preset'],
  ['GET', '/materials?limit=x', undefined, 'limit must be one whole number from 1 to 100'],
])('%s %s %j says what to do', async ([method, path, json, text], { rest }) => {
  const answer = await rest.request(method, path, json && { json });
  expect(errorOf(answer).message).toBe(`The request is not valid: ${text}.`);
});

test.for<[string, object, string]>([
  ['that is too large', { body: `{"title":"${'x'.repeat(262_144)}"}` }, 'The body must not exceed 256 KiB.'],
  [
    'of another media type',
    { body: '{}', headers: { 'content-type': 'text/plain' } },
    'The body must be JSON, sent with Content-Type: application/json.',
  ],
  ['that is no JSON', { body: '{' }, 'The body must be a JSON object in UTF-8.'],
  ['that is missing', {}, 'The request is not valid: body must be object.'],
])('a body %s is told what it must be', async ([, options, message], { rest }) => {
  const answer = await rest.request('POST', '/materials', options);
  expect([answer.status, errorOf(answer)]).toEqual([
    400,
    { code: 'invalid_request', message, details: { field: 'body' } },
  ]);
});

test('a path that there is not is named with its method, without its query, and cut', async ({ rest }) => {
  const { status, body } = await rest.request('GET', '/nothing?key=secret');
  expect([status, body]).toEqual([
    404,
    { error: { code: 'not_found', message: 'There is no GET /v1/nothing in this API.' } },
  ]);
  const long = await rest.request('POST', `/${'x'.repeat(500)}`);
  expect(errorOf(long).message).toBe(`There is no POST /v1/${'x'.repeat(196)} in this API.`);
});

test('a text of a service uses the names of the API', async ({ rest }) => {
  const { id } = await rest.create({ title: 'T' });
  const past = await rest.post(`/materials/${id}/snooze`, { snoozeUntil: '2020-01-01T00:00:00Z' });
  expect(errorOf(past)).toMatchObject({
    message: 'snoozeUntil must be later than now.',
    details: { field: 'snoozeUntil' },
  });
});
