import type { Client } from 'pg';
import { expect } from 'vitest';
import { findApiKeysByIdEnding, findApiKeysByPrefix } from '../../services/accounts/keys/sql.ts';
import { findUsersByIdEnding, searchUsers } from '../../services/accounts/users/sql.ts';
import { type Given, test } from '../fixtures.ts';

test.beforeAll(takeServices);

test('users are found by the beginning of their address in any case, in the order of their bytes', async () => {
  for (const email of [
    'Zoe.b@x.example',
    'zoe.a@x.example',
    'zoe_a@x.example',
    'zoe~a@x.example',
    'zo@x.example',
  ])
    await createUser(email);
  expect(await search('ZOE')).toEqual([
    'zoe.a@x.example',
    'Zoe.b@x.example',
    'zoe_a@x.example',
    'zoe~a@x.example',
  ]);
  expect(await search('zoe.b@x.example')).toEqual(['Zoe.b@x.example']);
  expect(await search('zoe', 1)).toEqual(['zoe.a@x.example']);
  // No pattern: each character stands for itself.
  expect(await search('zo_')).toEqual([]);
  expect(await search('zo%')).toEqual([]);
  await expect(search('')).rejects.toMatchObject({ reason: 'INVALID_REQUEST', field: 'text' });
  expect(await search('a'.repeat(254))).toEqual([]);
  await expect(search('a\u0000')).rejects.toMatchObject({ field: 'text' });
  await expect(search('a'.repeat(255))).rejects.toMatchObject({ field: 'text' });
  await expect(search('a', 101)).rejects.toMatchObject({ field: 'page_size' });
});

test('users are found by a part of address and names, in any case and composition, after those whose address begins so', async () => {
  const { users } = here.accounts;
  for (const [email, firstName, lastName] of [
    ['lovelock@other.example', undefined, undefined],
    ['ada@part.example', 'Agda', 'Lovelock'],
    ['rene@part.example', 'Rene\u0301', undefined],
    ['hannah@other.example', 'Banan', undefined],
    ['min@other.example', '\ubbfc\uc218', 'Xu'],
  ] as const)
    await users.createUser({ email, ...(firstName && { firstName }), ...(lastName && { lastName }) });
  expect(await search('LOVELOCK')).toEqual(['lovelock@other.example', 'ada@part.example']);
  // Whoever is found by both takes one place of a page.
  expect(await search('lovelock', 2)).toEqual(['lovelock@other.example', 'ada@part.example']);
  expect(await search('agda love')).toEqual(['ada@part.example']);
  expect(await search('Ren\u00e9')).toEqual(['rene@part.example']);
  expect((await search('@part.exa')).toSorted()).toEqual(['ada@part.example', 'rene@part.example']);
  // Each three characters of it stand there, but not in this order.
  expect(await search('anana')).toEqual([]);
  // One or two characters begin an address, and a pattern is none.
  expect([await search('el'), await search('part%example'), await search('elo_')]).toEqual([[], [], []]);
  // But for a whole name; no other file's address begins so.
  expect([await search('XU'), await search('\ubbfc\uc218'.normalize('NFD'))]).toEqual([
    ['min@other.example'],
    ['min@other.example'],
  ]);
  // Two characters, however many code points they come in.
  expect(await search('ne\u0301')).toEqual([]);
});

test('users and keys are found by the last 8 characters of their ID, in either case', async () => {
  const { userId, apiKeyId } = await here.createUser();
  const { users } = await here.accounts.users.searchUsers({ text: userId.slice(-8).toUpperCase() });
  expect(users.map((user) => user.userId)).toEqual([userId]);
  const find = (idEnding: string) => here.accounts.apiKeys.findApiKeys({ idEnding });
  expect((await find(apiKeyId.slice(-8).toUpperCase())).apiKeys.map((key) => key.apiKeyId)).toEqual([
    apiKeyId,
  ]);
  await expect(find(apiKeyId.slice(-7))).rejects.toMatchObject({ field: 'id_ending' });
});

test('keys are found by ID and by their visible beginning, the revoked ones too', async () => {
  const { apiKeyId, key } = await here.createUser();
  await here.accounts.apiKeys.revokeApiKey({ apiKeyId });
  const find = async (request: object) =>
    (await here.accounts.apiKeys.findApiKeys(request)).apiKeys.map((found) => found.apiKeyId);
  expect(await find({ apiKeyId })).toEqual([apiKeyId]);
  expect(await find({ apiKeyId: 'no id' })).toEqual([]);
  expect(await find({ keyPrefix: key.slice(0, 17) })).toEqual([apiKeyId]);
  expect(await find({ keyPrefix: key.slice(0, 14) })).toEqual([apiKeyId]);
  await here.createUser();
  const { apiKeys: all } = await here.accounts.apiKeys.findApiKeys({ keyPrefix: 'rmk_live_' });
  const prefixes = all.map(({ keyPrefix }) => keyPrefix);
  expect(prefixes.length).toBeGreaterThan(1);
  expect(prefixes).toEqual(prefixes.toSorted());
  expect(await find({ keyPrefix: 'rmk_live_', pageSize: 1 })).toEqual([all[0]?.apiKeyId]);
  for (const keyPrefix of [key, key.slice(0, 18), 'sk_live_', 'rmk_live_%', ''])
    await expect(find({ keyPrefix })).rejects.toMatchObject({ field: 'key_prefix' });
  const { apiKeys } = await here.accounts.apiKeys.findApiKeys({ apiKeyId });
  expect(apiKeys[0]?.keyPrefix).toBe(key.slice(0, 17));
  // Of one beginning, in the order of their IDs, whichever was stored first.
  const three = [apiKeyId, (await here.createUser()).apiKeyId, (await here.createUser()).apiKeyId];
  for (const id of three.toReversed())
    await sql.query(`UPDATE accounts.api_keys SET key_prefix = 'rmk_live_zzzzzzzz' WHERE api_key_id = $1`, [
      id,
    ]);
  expect(await find({ keyPrefix: 'rmk_live_zzzz' })).toEqual(three);
  expect(await find({ keyPrefix: 'rmk_live_zzzz', pageSize: 2 })).toEqual(three.slice(0, 2));
  expect(await find({ keyPrefix: 'rmk_live_zzzy' })).toEqual([]);
});

test('a key of an older version shows its beginning once it was used', async () => {
  const { userId, apiKeyId, key } = await here.createUser();
  await sql.query('UPDATE accounts.api_keys SET key_prefix = NULL WHERE api_key_id = $1', [apiKeyId]);
  const prefix = async () => {
    const { apiKeys } = await here.accounts.apiKeys.listApiKeys({ userId });
    return apiKeys[0]?.keyPrefix;
  };
  expect(await prefix()).toBe('');
  await here.accounts.apiKeys.verifyApiKey({ key });
  await expect.poll(prefix).toBe(key.slice(0, 17));
});

test('every search reads a range of an index', async () => {
  const plans: string[] = [];
  // Enough that a plan by another index would cost more.
  await sql.query('BEGIN');
  try {
    await sql.query(
      `INSERT INTO accounts.users (user_id, email, folded_email, plan, time_zone, create_time, update_time)
       SELECT gen_random_uuid(), name, name, 'free', 'UTC', now(), now()
       FROM (SELECT 'many' || i || '@plans.example' AS name FROM generate_series(1, 2000) AS i) AS many`,
    );
    await sql.query(
      `INSERT INTO accounts.api_keys (api_key_id, user_id, name, scopes, key_hash, pepper_version, create_time, key_prefix)
       SELECT gen_random_uuid(), user_id, '', '{profile:read}', uuid_send(user_id), '1', now(),
         'rmk_live_' || left(user_id::text, 8)
       FROM accounts.users WHERE email LIKE '%@plans.example'`,
    );
    await sql.query('ANALYZE accounts.users, accounts.api_keys');
    const explaining = {
      async query<R>({ text, values }: { text: string; values: readonly unknown[] }): Promise<R[]> {
        // As it is planned for any parameters.
        await sql.query('SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off');
        await sql.query(`PREPARE asked AS ${text}`);
        const literals = values.map((value) => (typeof value === 'number' ? value : `'${value}'`));
        const { rows } = await sql.query(`EXPLAIN EXECUTE asked(${literals.join(', ')})`);
        await sql.query('DEALLOCATE asked');
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
        return [];
      },
    };
    await searchUsers(explaining, 'a', 10);
    await findApiKeysByPrefix(explaining, 'rmk_live_', 10);
    await findUsersByIdEnding(explaining, '01234567', 10);
    await findApiKeysByIdEnding(explaining, '01234567', 10);
  } finally {
    await sql.query('ROLLBACK');
  }
  expect(plans[0]).toMatch(/Bitmap Index Scan on users_by_text/);
  expect(plans[2]).toMatch(/users_by_id_ending/);
  expect(plans[3]).toMatch(/api_keys_by_id_ending/);
  expect(plans[0]).toMatch(/Index Scan using users_by_email_prefix .*\n +Index Cond:.*>=.*</);
  expect(plans[1]).toMatch(/Index Scan using api_keys_by_prefix .*\n +Index Cond:.*>=.*</);
  for (const plan of plans.slice(0, 2)) expect(plan).not.toContain('Sort');
});

let here: Given<'system'>['system'];
let sql: Client;

function takeServices({ system, scheduling }: Given<'system' | 'scheduling'>): void {
  here = system;
  ({ sql } = scheduling);
}

const createUser = async (email: string) =>
  (await here.accounts.users.createUser({ email })).user?.userId ?? '';

const search = async (text: string, pageSize = 0) =>
  (await here.accounts.users.searchUsers({ text, pageSize })).users.map(({ email }) => email);
