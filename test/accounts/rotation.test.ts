import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { ALL_SCOPES, startSystem, type TestSystem } from '../support/system.ts';

const CALL = { requestId: 'test' };
let here: TestSystem;
beforeAll(async () => {
  here = await startSystem();
});
afterAll(() => here.stop());

const setOf = (bits: number) => ALL_SCOPES.filter((_scope, index) => bits & (1 << index));

describe('a rotated key', () => {
  test('has the scopes asked for if the old one had them all, over all 63 x 63 pairs, and else there is none', async () => {
    const { userId } = await here.createUser();
    for (let old = 1; old < 64; old += 1) {
      const { apiKeyId } = await here.createKey(userId, setOf(old));
      const answers = await Promise.all(
        Array.from({ length: 63 }, async (_, index) => {
          const scopes = setOf(index + 1);
          return here.accounts.apiKeys.rotateApiKey({ apiKeyId, scopes }, CALL).then(
            ({ apiKey }) => apiKey?.scopes.toSorted(),
            (error: unknown) => (error instanceof ServiceError ? error.reason : error),
          );
        }),
      );
      const expected = answers.map((_, index) => {
        const asked = index + 1;
        return (asked & ~old) === 0 ? setOf(asked).toSorted() : 'INVALID_SCOPE';
      });
      expect(answers, `of ${setOf(old)}`).toEqual(expected);
    }
    const { apiKeys } = await here.accounts.apiKeys.listApiKeys({ userId }, CALL);
    // The first key, 63 others, and for each set as many replacements as it has parts: 3^6 - 2^6 over all.
    expect(apiKeys.length).toBe(1 + 63 + 729 - 64);
  });
});
