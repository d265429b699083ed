// The OpenAPI document that is checked in is the one that is served, and only adds to the released one.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { test } from '../fixtures.ts';
import { createApi } from '../support/api.ts';
import { root } from '../support/processes.ts';
import { breakingChanges } from './openapi-changes.ts';

describe('the checked-in document', () => {
  test('is what the service serves; npm run openapi writes it', async ({ system }) => {
    expect(await (await fetch(`${system.origins[0]}/openapi.json`)).json()).toEqual(checkedIn);
  });

  // openapi-typescript takes a field with a default for one that is always there, and then demands it of who creates a material.
  test('has no default in a body, so that generated types demand what is required alone', () => {
    const { CreateMaterialRequest: created } = checkedIn.components.schemas;
    expect(created.required).toEqual(['title']);
    const properties = Object.values<Document>(checkedIn.components.schemas).flatMap((schema) =>
      Object.values(schema.properties ?? {}),
    );
    expect(properties.filter((property) => 'default' in Object(property))).toEqual([]);
  });

  test('names the field of each choice, so that generated types do not take anything for a snooze', () => {
    const { anyOf, properties } = checkedIn.components.schemas.SnoozeRequest;
    expect(anyOf).toEqual([
      { type: 'object', required: ['snoozeUntil'], properties: { snoozeUntil: properties.snoozeUntil } },
      { type: 'object', required: ['preset'], properties: { preset: properties.preset } },
    ]);
  });

  test('names its schemas', () => {
    expect(Object.keys(checkedIn.components.schemas)).toEqual([
      'CreateMaterialRequest',
      'Error',
      'ErrorResponse',
      'Material',
      'MaterialResponse',
      'MaterialsResponse',
      'MeResponse',
      'Review',
      'ReviewRequest',
      'ReviewResponse',
      'Scope',
      'Snooze',
      'SnoozeRequest',
      'SnoozeResponse',
    ]);
  });

  test('groups the operations, and gives each body and each response an example', () => {
    for (const methods of Object.values<Document>(checkedIn.paths)) {
      for (const { tags, requestBody, responses, operationId } of Object.values<Document>(methods)) {
        expect(checkedIn.tags.map(({ name }: Document) => name)).toContain(tags[0]);
        for (const part of [requestBody, ...Object.values<Document>(responses)]) {
          if (part !== undefined)
            expect(part.content['application/json'].example, operationId).toBeInstanceOf(Object);
        }
      }
    }
  });

  test('names the headers that the responses have', () => {
    const { responses } = checkedIn.paths['/materials'].post;
    expect(Object.keys(responses[201].headers)).toEqual([
      'X-Request-Id',
      'RateLimit',
      'RateLimit-Policy',
      'Idempotent-Replayed',
    ]);
    expect(Object.keys(responses[429].headers)).toContain('Retry-After');
    expect(Object.keys(responses[503].headers)).toContain('Retry-After');
    expect(Object.keys(responses[401].headers)).toContain('WWW-Authenticate');
  });

  test.each([
    ['without', ''],
    ['with', 'u'],
  ])('has patterns that mean the same %s the flag u', (_, flag) => {
    const q = checkedIn.paths['/search'].get.parameters.find(({ name }: Document) => name === 'q');
    const pattern = new RegExp(q.schema.pattern, flag);
    expect(['', 'é 😀 a', 'x\u0000', 'x\ud83d', '\ude00x'].map((text) => pattern.test(text))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  test('has examples of requests that succeed as they are', async ({ system, key }) => {
    const api = createApi(`${system.origins[0]}/v1`, key);
    const exampleOf = (path: string) =>
      checkedIn.paths[path].post.requestBody.content['application/json'].example;
    const { id } = await api.create(exampleOf('/materials'));
    expect((await api.post(`/reviews/${id}`, exampleOf('/reviews/{materialId}'))).status).toBe(200);
    const snooze = exampleOf('/materials/{materialId}/snooze');
    expect((await api.post(`/materials/${id}/snooze`, snooze)).status).toBe(201);
  });
});

describe('compared with the released document', () => {
  test('it only adds, but for the spelling of one pattern and of one choice', () => {
    const changes = breakingChanges(released, checkedIn);
    expect(changes).toEqual([
      'GET /materials q: pattern',
      'POST /materials body.title: pattern',
      'POST /materials body.content: pattern',
      'GET /search q: pattern',
      'POST /materials/{materialId}/snooze body: anyOf',
      'POST /materials/{materialId}/snooze body.reason: pattern',
    ]);
  });

  const material = (document: Document) => document.components.schemas.Material;
  const create = (document: Document) => document.components.schemas.CreateMaterialRequest;
  test.each<[string, (document: Document) => void, string[]]>([
    ['an operation less', (d) => delete d.paths['/search'], ['GET /search: gone']],
    ['a status less', (d) => delete d.paths['/me'].get.responses[401], ['GET /me 401: gone']],
    [
      'a field less in a response',
      (d) => delete d.components.schemas.MeResponse.properties.plan,
      ['GET /me 200.plan: gone'],
    ],
    [
      'a type changed',
      (d) => {
        d.components.schemas.MeResponse.properties.plan.type = 'integer';
      },
      ['GET /me 200.plan: type'],
    ],
    [
      'a value more in a response',
      (d) => d.components.schemas.MeResponse.properties.plan.enum.push('gold'),
      ['GET /me 200.plan: enum'],
    ],
    [
      'a field more that must be sent',
      (d) => create(d).required.push('type'),
      ['POST /materials body.type: required'],
    ],
    [
      'a tighter bound',
      (d) => {
        create(d).properties.title.maxLength = 100;
      },
      ['POST /materials body.title: maxLength'],
    ],
    [
      'a new bound',
      (d) => {
        create(d).properties.content.maxLength = 100;
      },
      ['POST /materials body.content: maxLength'],
    ],
    [
      'a field more in a response, and a wider bound: additions',
      (d) => {
        material(d).properties.note = { type: 'string' };
        create(d).properties.title.maxLength = 300;
      },
      [],
    ],
  ])('%s is told', (_, change, expected) => {
    const changed = structuredClone(checkedIn);
    change(changed);
    expect(breakingChanges(checkedIn, changed)).toEqual(expected);
  });
});

const checkedIn = readJson('docs/openapi.json');
const released = readJson('test/contract/openapi-1.0.0.json');

function readJson(file: string): Document {
  return JSON.parse(readFileSync(join(root, file), 'utf8'));
}

// biome-ignore lint/suspicious/noExplicitAny: the tests read and change the document freely
type Document = any;
