// Requests that nobody would write by hand: right and wrong parts of every kind, put together at random but repeatably.
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import type { Api } from '../support/api.ts';

export type GeneratedRequest = {
  method: string;
  path: string;
  query: Record<string, string>;
  body: string;
};

/** `materialId` is one that exists, so that some requests get beyond the first check. */
export function generateRequests(materialId: string, count: number, seed: number): GeneratedRequest[] {
  const anyText = fc.string({ unit: 'binary', maxLength: 40 });
  const anyPath = fc.oneof(
    fc.constantFrom('/me', '/materials', '/reviews/due', '/search', '/reviews/x', '/materials/x/snooze'),
    fc.constantFrom(`/reviews/${materialId}`, `/materials/${materialId}/snooze`),
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
  const fieldNames = [
    'title',
    'content',
    'sourceUrl',
    'type',
    'quality',
    'snoozeUntil',
    'preset',
    'reason',
    'x',
  ];
  const anyBody = fc.oneof(
    fc.dictionary(fc.constantFrom(...fieldNames), anyField).map((value) => JSON.stringify(value)),
    fc.json(),
    anyText,
  );
  const anyRequest = fc.record({
    method: fc.constantFrom('GET', 'POST', 'POST', 'POST'),
    path: anyPath,
    query: anyQuery,
    body: anyBody,
  });
  return fc.sample(anyRequest, { numRuns: count, seed });
}

/** Sends them 16 at a time, each answer held against the contract; how often each status came. */
export async function sendAll(api: Api, requests: GeneratedRequest[]): Promise<Map<number, number>> {
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
  // Generating blocks the event loop. `fetch` must first see which idle connections the server has closed meanwhile.
  await setTimeout(100);
  await Promise.all(Array.from({ length: 16 }, worker));
  return statuses;
}
