import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { ALL_SCOPES, startSystem, type TestSystem } from '../support/system.ts';

const CALL = { requestId: 'test' };
/** Users whose keys are rotated side by side; those of one user are made one by one. */
const USERS = 8;
let here: TestSystem;
beforeAll(async () => {
  here = await startSystem();
});
afterAll(() => here.stop());

const setOf = (bits: number) => ALL_SCOPES.filter((_scope, index) => bits & (1 << index));

async function rotate(apiKeyId: string, scopes: string[]): Promise<unknown> {
  return here.accounts.apiKeys.rotateApiKey({ apiKeyId, scopes }, CALL).then(
    ({ apiKey }) => apiKey?.scopes.toSorted(),
    (error: unknown) => (error instanceof ServiceError ? error.reason : error),
  );
}

async function countKeys(userId: string): Promise<number> {
  let count = 0;
  for (let pageToken = ''; ; ) {
    const page = await here.accounts.apiKeys.listApiKeys({ userId, pageSize: 100, pageToken }, CALL);
    count += page.apiKeys.length;
    pageToken = page.nextPageToken;
    if (pageToken === '') return count;
  }
}

describe('a rotated key', () => {
  test('has the scopes asked for if the old one had them all, over all 63 x 63 pairs, and else there is none', async () => {
    const counts = Array.from({ length: USERS }, async (_, turn) => {
      const { userId } = await here.createUser();
      for (let old = 1 + turn; old < 64; old += USERS) {
        const { apiKeyId } = await here.createKey(userId, setOf(old));
        for (let asked = 1; asked < 64; asked += 1) {
          const expected = (asked & ~old) === 0 ? setOf(asked).toSorted() : 'INVALID_SCOPE';
          expect(await rotate(apiKeyId, setOf(asked)), `${setOf(asked)} of ${setOf(old)}`).toEqual(expected);
        }
      }
      return countKeys(userId);
    });
    const made = (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    // The users' first keys, 63 others, and for each set as many replacements as it has parts: 3^6 - 2^6 over all.
    expect(made).toBe(USERS + 63 + 729 - 64);
  });
});
