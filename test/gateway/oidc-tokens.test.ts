// What the tokens of a sign-in provider say: who somebody is, which role they have, and which sessions have ended.
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { json, newKey, startScriptedProvider, startSignInGateway } from '../support/scripted-provider.ts';

const REFUSED = '401 The token is not accepted. Sign in again.';
const NO_TOKEN = '401 A gateway token is required. Send it as "Authorization: Bearer <token>".';

beforeAll(startAll);
afterEach(() => void vi.useRealTimers());
afterAll(stopAll);

describe('a bearer token', () => {
  test.each([
    ['x', NO_TOKEN],
    ['x.y', NO_TOKEN],
    ['.y.z', NO_TOKEN],
    ['x..z', NO_TOKEN],
    ['x.y.z.w', NO_TOKEN],
    ['x y.z.w', NO_TOKEN],
    ['x.y.z w', NO_TOKEN],
    ['x.y.z', REFUSED],
    ['x-_1.y-_2.', REFUSED],
  ])('like %s is a token of the provider only in its form', async (token, answer) => {
    expect(await gateway.who(token)).toBe(answer);
  });

  test('of the provider needs the time at which it was made', async () => {
    expect(await who({ iat: undefined })).toBe(REFUSED);
  });
});

const noRole = (claim: string) =>
  `403 Your account has no role here. Ask for viewer or operator in the claim ${claim}.`;

describe('a person', () => {
  test.each<[unknown, unknown, string]>([
    ['vic@example.com', true, 'vic@example.com'],
    ['a@b', true, 'a@b'],
    [`${'x'.repeat(242)}@example.com`, true, `${'x'.repeat(242)}@example.com`],
    [`${'x'.repeat(243)}@example.com`, true, 'oidc:vic'],
    ['@b', true, 'oidc:vic'],
    ['a@b@c', true, 'oidc:vic'],
    // The name of a gateway token, the ID of somebody else.
    ['tool', true, 'oidc:vic'],
    ['oidc:olga', true, 'oidc:vic'],
    ['é@example.com', true, 'oidc:vic'],
    ['vic@example.com é', true, 'oidc:vic'],
    ['vic@example.com', 'true', 'oidc:vic'],
    ['vic@example.com', undefined, 'oidc:vic'],
    [['vic@example.com'], true, 'oidc:vic'],
  ])('with the address %j, verified %j, is named %s', async (email, email_verified, name) => {
    expect(await who({ email, email_verified })).toBe(`${name} VIEWER`);
  });

  test("is named by the provider's ID in one line of 250 characters", async () => {
    expect(await who({ sub: 'a b\n/é' })).toBe('oidc:a%20b%0A%2F%C3%A9 VIEWER');
    expect(await who({ sub: 'x'.repeat(251) })).toBe(`oidc:${'x'.repeat(250)} VIEWER`);
  });

  test.each<[unknown, string]>([
    [['viewer'], 'oidc:vic VIEWER'],
    [['viewer', 'operator'], 'oidc:vic OPERATOR'],
    ['viewer', 'oidc:vic VIEWER'],
    ['other operator viewer', 'oidc:vic OPERATOR'],
    [['viewers', 'VIEWER'], noRole('roles')],
    ['operators', noRole('roles')],
    [[['operator']], noRole('roles')],
    [{ operator: true }, noRole('roles')],
    [null, noRole('roles')],
    [undefined, noRole('roles')],
  ])('with the roles %j is answered %s', async (roles, answer) => {
    expect(await who({ roles })).toBe(answer);
  });

  test.each<[string, object, string]>([
    ['realm_access.roles', { realm_access: { roles: ['operator'] } }, 'oidc:vic OPERATOR'],
    ['https://srs.example/roles', { 'https://srs.example/roles': ['operator'] }, 'oidc:vic OPERATOR'],
    ['realm_access.roles', { realm_access: null }, noRole('realm_access.roles')],
    ['realm_access.roles', {}, noRole('realm_access.roles')],
  ])('has the roles of the claim %s', async (OIDC_ROLE_CLAIM, claims, answer) => {
    const other = await startSignInGateway(provider.origin, { OIDC_ROLE_CLAIM });
    expect(await other.who(await provider.sign({ roles: ['viewer'], ...claims }))).toBe(answer);
    await other.stop();
  });
});

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

describe('a logout token', () => {
  const logout = { exp: undefined, roles: undefined, jti: 'j', events: { [EVENT]: {} } };
  const end = async (claims: object) => gateway.logout(await provider.sign({ ...logout, ...claims }));
  const message = 'logout_token must be a logout token of the provider in OIDC_ISSUER.';

  test('of a session ends that session alone', async () => {
    const [ended, other] = [{ sid: 'ended' }, { sid: 'other' }];
    expect([await who(ended), await who(other)]).toEqual(['oidc:vic VIEWER', 'oidc:vic VIEWER']);
    expect(await end({ sid: 'ended' })).toEqual({ status: 200, body: undefined, message: undefined });
    expect([await who(ended), await who(other), await who({})]).toEqual([
      REFUSED,
      'oidc:vic VIEWER',
      'oidc:vic VIEWER',
    ]);
  });

  test('of a person ends all that was signed in until then, and nobody else', async () => {
    const ana = { sub: 'ana', sid: 'a' };
    const nowSeconds = Math.floor(Date.now() / 1000);
    vi.useFakeTimers({ toFake: ['Date'], now: nowSeconds * 1000 });
    expect((await end({ sub: 'ana' })).status).toBe(200);
    expect([await who(ana), await who({ ...ana, iat: nowSeconds - 60 }), await who({ sub: 'ana' })]).toEqual([
      REFUSED,
      REFUSED,
      REFUSED,
    ]);
    expect(await who({ ...ana, iat: nowSeconds + 1 })).toBe('oidc:ana VIEWER');
    expect(await who({ sub: 'bob', sid: 'a' })).toBe('oidc:bob VIEWER');
  });

  test.each<[string, object]>([
    ['of no session and no person', { sub: undefined }],
    ['without the event', { events: { other: {} } }],
    ['with an event that is only inherited', { events: 'toString' }],
    ['with a nonce, as a token for signing in has', { nonce: 'n' }],
    ['without an ID of its own', { jti: undefined }],
    ['without the time at which it was made', { iat: undefined }],
    ['without any event', { events: undefined }],
    ['for another client', { aud: 'other' }],
    ['that has expired', { exp: 1_700_000_000 }],
  ])('%s ends nothing', async (_what, claims) => {
    expect(await end({ sub: 'eve', ...claims })).toMatchObject({
      status: 400,
      body: { errors: [{ message, extensions: { code: 'INVALID_REQUEST' } }] },
    });
    expect(await who({ sub: 'eve' })).toBe('oidc:eve VIEWER');
  });

  test('of another signature, or none, ends nothing', async () => {
    const stranger = await newKey(provider.key.jwk.kid);
    const forged = await provider.sign({ ...logout, sub: 'eve' }, stranger);
    expect((await gateway.logout(forged)).message).toBe(message);
    expect((await gateway.logout('x')).message).toBe(message);
    expect((await gateway.logout({})).status).toBe(400);
    expect(await who({ sub: 'eve' })).toBe('oidc:eve VIEWER');
  });

  test('is not lost while the provider is down: it is answered 503, so that the provider tries again', async () => {
    provider.answer('/keys', json({}, 500));
    const other = await startSignInGateway(provider.origin);
    const token = await provider.sign({ ...logout, sub: 'vic' });
    expect((await other.logout(token)).status).toBe(503);
    provider.behave();
    await other.stop();
  });
});

let provider: Awaited<ReturnType<typeof startScriptedProvider>>;
let gateway: Awaited<ReturnType<typeof startSignInGateway>>;

async function startAll(): Promise<void> {
  provider = await startScriptedProvider();
  gateway = await startSignInGateway(provider.origin);
}

async function stopAll(): Promise<void> {
  await gateway.stop();
  await provider.stop();
}

const who = async (claims: object) => gateway.who(await provider.sign(claims));
