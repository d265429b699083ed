import type { Client } from 'pg';
import { expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';

test.beforeAll(takeServices);

test('a revoked key that is still sent is listed, and counted once a minute however often it is sent', async () => {
  const { apiKeyId, key, userId } = await createRevoked();
  const before = (await list()).totalSize;
  const answers = await Promise.all(Array.from({ length: 20 }, () => verify(key)));
  expect(new Set(answers)).toEqual(new Set(['UNAUTHORIZED']));
  await expect.poll(() => minutesOf(apiKeyId)).toBe(1);
  expect(await verify(key)).toBe('UNAUTHORIZED');
  const { apiKeys, totalSize } = await list();
  expect([totalSize, apiKeys[0]?.userId, apiKeys[0]?.refusedMinutes]).toEqual([before + 1, userId, 1]);
  await ago(apiKeyId, '1 minute');
  expect(await verify(key)).toBe('UNAUTHORIZED');
  await expect.poll(() => minutesOf(apiKeyId)).toBe(2);
});

test('a flood with a revoked key does not touch its row again within the minute', async () => {
  const { apiKeyId, key } = await createRevoked();
  await verify(key);
  await expect.poll(() => minutesOf(apiKeyId)).toBe(1);
  const versionOf = async () =>
    (await sql.query('SELECT xmin, xmax FROM accounts.api_keys WHERE api_key_id = $1', [apiKeyId])).rows[0];
  const before = await versionOf();
  await Promise.all(Array.from({ length: 50 }, () => verify(key)));
  expect(await versionOf()).toEqual(before);
});

test('valid, unknown and mistyped keys are not listed, and neither is a key last sent over 7 days ago', async () => {
  const { totalSize } = await list();
  const valid = await here.createUser();
  expect(await verify(valid.key)).toBe('valid');
  expect(await verify(`${valid.key.slice(0, -1)}_`)).toBe('UNAUTHORIZED');
  expect((await list()).totalSize).toBe(totalSize);
  const { apiKeyId, key } = await createRevoked();
  await verify(key);
  await expect.poll(() => minutesOf(apiKeyId)).toBe(1);
  await ago(apiKeyId, '7 days');
  expect(await minutesOf(apiKeyId)).toBeUndefined();
  expect((await list()).totalSize).toBe(totalSize);
});

test('a key that was revoked before its end is told as revoked after its end, too', async () => {
  const { apiKeyId, key } = await createRevoked();
  const text = `UPDATE accounts.api_keys SET expire_time = now() - interval '1 ms' WHERE api_key_id = $1`;
  await sql.query(text, [apiKeyId]);
  await expect(here.accounts.apiKeys.verifyApiKey({ key })).rejects.toMatchObject({
    keyRefusal: { cause: 'revoked', apiKeyId },
  });
});

test('the latest refused comes first, page by page', async () => {
  const keys = [await createRevoked(), await createRevoked(), await createRevoked()];
  for (const [index, { apiKeyId, key }] of keys.entries()) {
    await verify(key);
    await expect.poll(() => minutesOf(apiKeyId)).toBe(1);
    await ago(apiKeyId, `${index + 1} days`);
  }
  const newest = await list({ pageSize: 100 });
  const ids = newest.apiKeys.map(({ apiKeyId }) => apiKeyId);
  expect(ids.slice(-3)).toEqual(keys.map(({ apiKeyId }) => apiKeyId));
  const paged: string[] = [];
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    const page = await list({ pageSize: 2, pageToken });
    expect(page.totalSize).toBe(ids.length);
    paged.push(...page.apiKeys.map(({ apiKeyId }) => apiKeyId));
    pageToken = page.nextPageToken || undefined;
  }
  expect(paged).toEqual(ids);
  // Of one instant, the one with the higher ID.
  const text = 'UPDATE accounts.api_keys SET last_refused_time = now() WHERE api_key_id = ANY($1)';
  await sql.query(text, [ids]);
  const sameTime = (await list({ pageSize: 100 })).apiKeys.map(({ apiKeyId }) => apiKeyId);
  expect(sameTime).toEqual(ids.toSorted().toReversed());
  await expect(list({ pageSize: 101 })).rejects.toMatchObject({ field: 'page_size' });
  await expect(list({ pageToken: 'x' })).rejects.toMatchObject({ field: 'page_token' });
});

let here: Given<'system'>['system'];
let sql: Client;

function takeServices({ system, scheduling }: Given<'system' | 'scheduling'>): void {
  here = system;
  ({ sql } = scheduling);
}

const list = (request = {}) => here.accounts.apiKeys.listRefusedApiKeys(request);

/** Again where a crowd leaves no connection in time. */
const verify = (key: string): Promise<string> =>
  here.accounts.apiKeys.verifyApiKey({ key }).then(
    () => 'valid',
    ({ reason }) => (reason === 'UNAVAILABLE' ? verify(key) : reason),
  );

const minutesOf = async (apiKeyId: string) =>
  (await list({ pageSize: 100 })).apiKeys.find((key) => key.apiKeyId === apiKeyId)?.refusedMinutes;

/** Moves the latest refusal back. */
const ago = (apiKeyId: string, interval: string) =>
  sql.query(
    'UPDATE accounts.api_keys SET last_refused_time = last_refused_time - $2::interval WHERE api_key_id = $1',
    [apiKeyId, interval],
  );

const createRevoked = async () => {
  const made = await here.createUser();
  await here.accounts.apiKeys.revokeApiKey({ apiKeyId: made.apiKeyId });
  return made;
};
