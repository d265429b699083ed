import { expect, test } from 'vitest';
import { ServiceError } from '../../../services/platform/errors.ts';
import { acrossUsers } from '../../../services/scheduling/batches/across-users.ts';

const requestsOf = (...userIds: string[]) => userIds.map((userId) => ({ userId }));

test('on one PostgreSQL all requests are one read, and its failure is theirs', async () => {
  const asked: string[][] = [];
  const read = acrossUsers({ isDistributed: false }, async (requests: readonly { userId: string }[]) => {
    asked.push(requests.map(({ userId }) => userId));
    if (asked.length === 2) throw new ServiceError('UNAVAILABLE');
    return requests.map(({ userId }) => userId);
  });
  expect(await read(requestsOf('1a', '2a'))).toEqual(['1a', '2a']);
  await expect(read(requestsOf('1a'))).rejects.toThrow(ServiceError);
  expect(asked).toEqual([['1a', '2a'], ['1a']]);
});
