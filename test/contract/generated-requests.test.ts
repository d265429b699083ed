import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Api, createApi } from '../support/api.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

let system: TestSystem;
let api: Api;
let materialId: string;

beforeAll(async () => {
  system = await startSystem();
  api = createApi(`${system.origins[0]}/v1`, (await system.createUser()).key);
  materialId = (await api.create({ title: 'Target' })).id;
});
afterAll(() => system.stop());

describe('20,000 generated requests', () => {
  test('meet no 5xx and nothing outside the contract', async () => {
    const anyText = fc.string({ unit: 'binary', maxLength: 40 });
    const anyPath = fc.oneof(
      fc.constantFrom('/me', '/materials', '/reviews/due', '/search', '/reviews/x', '/materials/x/snooze'),
      fc
        .constantFrom('reviews', 'snooze')
        .map((kind) => (kind === 'reviews' ? `/reviews/${materialId}` : `/materials/${materialId}/snooze`)),
      fc.webPath(),
    );
    const anyQuery = fc.dictionary(
      fc.constantFrom('limit', 'q', 'x'),
      fc.oneof(anyText, fc.integer().map(String)),
    );
    const anyField = fc.oneof(
      fc.jsonValue(),
      anyText,
      fc.integer(),
      fc.constantFrom('1h', 'card', 'https://x', '2999-01-01T00:00:00Z'),
    );
    const anyBody = fc.oneof(
      fc
        .dictionary(
          fc.constantFrom(
            'title',
            'content',
            'sourceUrl',
            'type',
            'quality',
            'snoozeUntil',
            'preset',
            'reason',
            'x',
          ),
          anyField,
        )
        .map((value) => JSON.stringify(value)),
      fc.json(),
      anyText,
    );
    const anyRequest = fc.record({
      method: fc.constantFrom('GET', 'POST', 'POST', 'POST'),
      path: anyPath,
      query: anyQuery,
      body: anyBody,
    });
    const requests = fc.sample(anyRequest, { numRuns: 20_000, seed: 20_261_121 });
    const statuses = new Map<number, number>();
    const worker = async () => {
      for (let next = requests.pop(); next !== undefined; next = requests.pop()) {
        const query = new URLSearchParams({ ...next.query }).toString();
        const answer = await api.request(next.method, query === '' ? next.path : `${next.path}?${query}`, {
          ...(next.method === 'POST' && { body: next.body }),
        });
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 16 }, worker));
    expect([...statuses.keys()].toSorted()).toEqual([200, 201, 400, 404]);
  }, 120_000);
});
