// Keys that end, and keys that are allowed from some addresses only.
import { expect } from 'vitest';
import { readExpireTime } from '../../services/accounts/keys/rules.ts';
import { toTimestamp } from '../../services/platform/instants.ts';
import { readTrustedProxies } from '../../services/platform/process/common-config.ts';
import { readCollecting, readEnvironment } from '../../services/platform/process/config.ts';
import { COMMANDS } from '../../services/programs/keys/commands.ts';
import { test as base, type Given } from '../fixtures.ts';
import { startFacade } from '../support/facade.ts';

const test = base
  /** Makes a key of the user with limits. */
  .extend('create', create)
  /** The status of GET /materials with a key, as a proxy passes it on for `address`. */
  .extend('statusOf', statusOf);

test('a key is valid before its end and 401 from it on, although the facade has it cached', async ({
  create,
  statusOf,
}) => {
  const endMs = Date.now() + 1500;
  const { key } = await create({ expireTime: toTimestamp(new Date(endMs)) });
  const answers: [fromMs: number, untilMs: number, status: number][] = [];
  while (answers.filter(([fromMs]) => fromMs > endMs).length < 5) {
    const fromMs = Date.now();
    const status = await statusOf(key);
    answers.push([fromMs, Date.now(), status]);
  }
  const before = answers.filter(([, untilMs]) => untilMs < endMs).map(([, , status]) => status);
  const after = answers.filter(([fromMs]) => fromMs >= endMs).map(([, , status]) => status);
  expect(new Set(before)).toEqual(new Set([200]));
  expect(new Set(after)).toEqual(new Set([401]));
});

test('an ended key that is still sent is listed as refused', async ({ accounts, create, statusOf }) => {
  const { key, apiKeyId } = await create({ expireTime: inMs(300) });
  await expect.poll(() => statusOf(key), { interval: 50 }).toBe(401);
  const refused = async () =>
    (await accounts.apiKeys.listRefusedApiKeys({ pageSize: 100 }, CALL)).apiKeys.map((each) => each.apiKeyId);
  await expect
    .poll(async () => [await statusOf(key), (await refused()).includes(apiKeyId)])
    .toEqual([401, true]);
});

test.for<[allowed: string[], address: string, status: number]>([
  [['203.0.113.0/24'], '203.0.113.9', 200],
  [['203.0.113.0/24'], '203.0.114.9', 401],
  [['203.0.113.0/24'], '::ffff:203.0.113.9', 200],
  [['203.0.113.9'], '203.0.113.9', 200],
  [['203.0.113.9'], '203.0.113.10', 401],
  [['2001:DB8::/32', '198.51.100.7/32'], '2001:db8:5::1', 200],
  [['2001:db8::/32', '198.51.100.7/32'], '2001:db9::1', 401],
  [['0.0.0.0/0', '::/0'], '2001:db9::1', 200],
  [['0.0.0.0/0'], '2001:db9::1', 401],
  [['203.0.113.0/25'], '203.0.113.128', 401],
  [['203.0.113.77/24'], '203.0.113.9', 200],
  [['::ffff:203.0.113.0/120'], '203.0.113.9', 200],
  [['::ffff:203.0.113.0/120'], '203.0.114.9', 401],
  [['10.0.0.0/8'], 'no address', 401],
  [['127.0.0.0/8'], 'no address', 200],
])(
  'a key that is allowed from %j, used from %s: %d',
  async ([allowed, address, status], { create, statusOf }) => {
    const { key } = await create({ allowedAddresses: allowed });
    expect([await statusOf(key, address), await statusOf(key, address)]).toEqual([status, status]);
  },
);

const inMs = (ms: number) => toTimestamp(new Date(Date.now() + ms));

test.for<[limits: object, field: string]>([
  [{ expireTime: inMs(-1000) }, 'expire_time'],
  [{ allowedAddresses: ['203.0.113.0/33'] }, 'allowed_addresses'],
  [{ allowedAddresses: ['example.com'] }, 'allowed_addresses'],
  [{ allowedAddresses: [''] }, 'allowed_addresses'],
  [{ allowedAddresses: ['10.0.0.0/8', '10.0.0.0/'] }, 'allowed_addresses'],
  [{ allowedAddresses: ['10.0.0.0/-1'] }, 'allowed_addresses'],
  [{ allowedAddresses: ['fe80::1%eth0'] }, 'allowed_addresses'],
  [{ allowedAddresses: Array.from({ length: 21 }, (_, index) => `10.0.0.${index}`) }, 'allowed_addresses'],
])('%j is refused, and no key is made', async ([limits, field], { accounts, user, create }) => {
  await expect(create(limits)).rejects.toMatchObject({ reason: 'INVALID_REQUEST', field });
  const { apiKeys } = await accounts.apiKeys.listApiKeys({ userId: user.userId }, CALL);
  expect(apiKeys).toHaveLength(1);
});

test('a key cannot end at this very moment, but a millisecond later', () => {
  const now = new Date('2026-12-08T10:00:00.000Z');
  const later = new Date(now.getTime() + 1);
  expect(() => readExpireTime(toTimestamp(now), now)).toThrow('must be in the future');
  expect(readExpireTime(toTimestamp(later), now)).toEqual(later);
});

test('a replacement lasts as long as the old key was given, from the same addresses, unless it is told otherwise', async ({
  accounts,
  create,
}) => {
  const { apiKeyId, apiKey } = await create({ expireTime: SOON, allowedAddresses: ['10.0.0.0/8'] });
  const rotate = async (limits = {}) =>
    (await accounts.apiKeys.rotateApiKey({ apiKeyId, ...limits }, CALL)).apiKey;
  const msOf = (time?: { seconds: number; nanos: number } | null) =>
    (time?.seconds ?? 0) * 1000 + (time?.nanos ?? 0) / 1e6;
  const same = await rotate();
  expect(same?.allowedAddresses).toEqual(['10.0.0.0/8']);
  expect(msOf(same?.expireTime) - msOf(same?.createTime)).toBe(msOf(SOON) - msOf(apiKey?.createTime));
  const sooner = inMs(DAY_MS);
  expect((await rotate({ expireTime: sooner }))?.expireTime).toEqual(sooner);
  const later = inMs(60 * DAY_MS);
  expect(await rotate({ expireTime: later, allowedAddresses: ['192.0.2.1'] })).toMatchObject({
    expireTime: later,
    allowedAddresses: ['192.0.2.1/32'],
  });
});

test('keys that end within 14 days are listed and counted, the first to end first, and no others', async ({
  accounts,
  create,
}) => {
  const days = async (count: number) => (await create({ expireTime: inMs(count * DAY_MS) })).apiKeyId;
  const [later, sooner, revoked] = [await days(13), await days(2), await days(3)];
  const [distant, endless] = [await days(15), (await create({})).apiKeyId];
  await accounts.apiKeys.revokeApiKey({ apiKeyId: revoked }, CALL);
  const ours = [later, sooner, revoked, distant, endless];
  const { apiKeys, totalSize } = await accounts.apiKeys.listExpiringApiKeys({ pageSize: 100 }, CALL);
  const listed = apiKeys.map(({ apiKeyId }) => apiKeyId);
  expect(listed.filter((id) => ours.includes(id))).toEqual([sooner, later]);
  expect(totalSize).toBe(listed.length);
});

test('npm run keys makes, replaces and lists keys with limits, and warns before they end', async ({
  accounts,
}) => {
  const email = `limits-${Math.random().toString(36).slice(2)}@example.com`;
  const run = async (name: string, options: object, operands: string[] = []) =>
    (await COMMANDS[name]?.run(accounts, operands, { json: true, ...options })) ?? '';
  const made = JSON.parse(
    await run('create', { email, 'expire-time': '9d', 'allowed-addresses': '10.0.0.0/8, ::1' }),
  );
  expect(made).toMatchObject({ allowedAddresses: ['10.0.0.0/8', '::1/128'], expiresAt: expect.any(String) });
  await run('rotate', { 'expire-time': '2999-01-31T09:00:00+01:00' }, [made.id]);
  const listed = await run('list', { email, json: false });
  expect(listed).toContain('valid until 2999-01-31T08:00:00.000Z');
  expect(listed).toContain('ENDS IN 8 DAYS');
  expect(listed).toContain('10.0.0.0/8 ::1/128');
  await expect(run('create', { email, 'expire-time': 'soon' })).rejects.toMatchObject({
    field: 'expire_time',
  });
});

test.for([
  ['1d', 'ENDS WITHIN A DAY'],
  ['2d', 'ENDS IN 1 DAY'],
  ['14d', 'ENDS IN 13 DAYS'],
  ['15d', 'valid until'],
] as const)('npm run keys says of a key that was made for %s: %s', async ([term, said], { accounts }) => {
  const email = `ends-${Math.random().toString(36).slice(2)}@example.com`;
  await COMMANDS.create?.run(accounts, [], { json: true, email, 'expire-time': term });
  const listed = (await COMMANDS.list?.run(accounts, [], { json: false, email })) ?? '';
  expect(/ENDS WITHIN A DAY|ENDS IN \d+ DAYS?|valid until/.exec(listed)?.[0]).toBe(said);
});

test('over GraphQL a key is made and replaced with limits, and the expiring ones are listed', async ({
  gateway,
  user,
}) => {
  const expiresAt = new Date(Date.now() + 3 * DAY_MS).toISOString();
  const shown = 'apiKey { id expiresAt allowedAddresses }';
  const input = { userId: user.userId, expiresAt, allowedAddresses: ['10.0.0.0/8'] };
  const {
    data: { createApiKey },
  } = await gateway.query(
    `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { ${shown} } }`,
    { input },
  );
  const { id } = createApiKey.apiKey;
  expect(createApiKey.apiKey).toEqual({ id, expiresAt, allowedAddresses: ['10.0.0.0/8'] });
  const {
    data: { expiringApiKeys },
  } = await gateway.query('{ expiringApiKeys(first: 100) { totalCount nodes { apiKey { id } } } }');
  expect(expiringApiKeys.nodes).toContainEqual({ apiKey: { id } });
  const late = { apiKeyId: id, expiresAt: '2020-01-01T00:00:00Z' };
  const refused = await gateway.query(
    `mutation ($late: RotateApiKeyInput!) { rotateApiKey(input: $late) { ${shown} } }`,
    { late },
  );
  expect(refused.errors?.[0]?.extensions).toEqual({ code: 'INVALID_REQUEST', field: 'expiresAt' });
});

test('X-Forwarded-For is believed from proxies that are named, and their part of it alone', async ({
  system,
  create,
}) => {
  const { trust, accountsTarget, schedulingTarget } = system;
  const statusOf = async (trustedProxies: readonly string[], forwardedFor: string) => {
    const { origin, close } = await startFacade({
      trust,
      accountsTarget,
      schedulingTarget,
      trustedProxies,
    });
    const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': forwardedFor };
    const { status } = await fetch(`${origin}/v1/materials`, { headers });
    await close();
    return status;
  };
  const { key } = await create({ allowedAddresses: ['203.0.113.0/24', '2001:db8::/32'] });
  expect(await statusOf(['127.0.0.1'], '203.0.113.9')).toBe(200);
  // A caller at 10.0.0.9 says so of itself; the proxy adds where it comes from.
  expect(await statusOf(['127.0.0.1'], '203.0.113.9, 10.0.0.9')).toBe(401);
  expect(await statusOf(['127.0.0.1', '10.0.0.0/8'], '203.0.113.9, 10.0.0.9')).toBe(200);
  expect(await statusOf(['10.0.0.7'], '203.0.113.9')).toBe(401);
  // Application Gateway of Azure and IIS add the client's port.
  expect(await statusOf(['127.0.0.1'], '203.0.113.9:51234')).toBe(200);
  expect(await statusOf(['127.0.0.1'], '203.0.113.9:51234, 10.0.0.9:51234')).toBe(401);
  expect(await statusOf(['127.0.0.1'], '[2001:db8::9]:51234')).toBe(200);
  expect(await statusOf(['127.0.0.1'], '[2001:db9::9]:51234')).toBe(401);
  // By default nobody is.
  expect(await statusOf(readEnvironment({}, readTrustedProxies), '203.0.113.9')).toBe(401);
});

test.for<[proxies: string, problems: number]>([
  ['loopback, 10.0.0.7,2001:db8::/32', 0],
  ['10.0.0.0/33', 1],
  ['0.0.0.0/0, ::/0', 2],
  ['everybody,10.0.0.0/8/9,', 3],
])('TRUSTED_PROXIES=%s has %d problems', ([TRUSTED_PROXIES, count]) => {
  const problems = new Set<string>();
  readCollecting(problems, { TRUSTED_PROXIES }, readTrustedProxies);
  expect([...problems].filter((problem) => problem.startsWith('TRUSTED_PROXIES must hold'))).toHaveLength(
    count,
  );
});

const CALL = { requestId: 'test' };
const DAY_MS = 86_400_000;

const SOON = inMs(30 * DAY_MS);

function create({ accounts, user }: Given<'accounts' | 'user'>) {
  return async (limits: object) => {
    const made = await accounts.apiKeys.createApiKey({ userId: user.userId, ...limits }, CALL);
    return { key: made.key, apiKey: made.apiKey, apiKeyId: made.apiKey?.apiKeyId ?? '' };
  };
}

function statusOf({ rest }: Given<'rest'>) {
  return async (key: string, address = '203.0.113.9') =>
    (await rest.get('/materials', { key, headers: { 'x-forwarded-for': address } })).status;
}
