// Sign-in with OpenID Connect, against a real provider: who comes in, as whom, and who does not.
import { randomUUID } from 'node:crypto';
import { generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { startGateway } from '../../gateway/app.ts';
import { readGatewayConfig } from '../../gateway/config.ts';
import type { HttpServer } from '../../services/platform/http/server.ts';
import { type AuditEntry, createLogger } from '../../services/platform/logging/logger.ts';
import { readEnvironment } from '../../services/platform/process/config.ts';
import { type Given, test } from '../fixtures.ts';
import { type OpenIdProvider, startOpenIdProvider } from '../support/openid-provider.ts';

test.beforeAll(startAll);
afterAll(stopAll);

describe('a person who signs in', () => {
  test('is named by a verified e-mail address and has the role of the claim', async () => {
    expect(await who(await signIn('vic'))).toBe('vic@example.com VIEWER');
  });

  test("is named by the provider's own ID where the address is not verified", async () => {
    expect(await who(await signIn('olga'))).toBe('oidc:olga OPERATOR');
  });

  test('is named in the audit log', async () => {
    const token = await signIn('olga');
    const { status } = await ask(
      token,
      `mutation { createUser(input: { email: "${randomUUID()}@example.com" }) { user { id } } }`,
    );
    expect(status).toBe(200);
    expect(audited).toMatchObject([{ action: 'createUser', caller: 'gateway/oidc:olga', outcome: 'ok' }]);
  });

  test('reads and does not write as a viewer', async () => {
    const query = 'mutation { deleteUser(input: { userId: "x" }) { deleted } }';
    expect((await ask(await signIn('vic'), query)).status).toBe(403);
  });

  test('is told which claim to ask for where there is no role', async () => {
    const response = await post('/oidc/token', await provider.browse().signIn('tim'));
    expect([response.status, await response.json()]).toMatchObject([
      403,
      {
        errors: [
          { message: 'Your account has no role here. Ask for viewer or operator in the claim roles.' },
        ],
      },
    ]);
  });

  test('leaves gateway tokens as they are', async () => {
    expect(await who(STATIC)).toBe('tool VIEWER');
  });
});

describe('the exchange of a code', () => {
  test('needs the verifier of the challenge, and takes a code once', async () => {
    const exchange = await provider.browse().signIn('vic');
    const other = { ...exchange, codeVerifier: 'x'.repeat(43) };
    expect((await post('/oidc/token', other)).status).toBe(401);
    const again = await provider.browse().signIn('vic');
    expect((await post('/oidc/token', again)).status).toBe(200);
    expect((await post('/oidc/token', again)).status).toBe(401);
  });

  test.each(['code', 'codeVerifier', 'redirectUri'])('names %s where it is missing', async (field) => {
    const parts = { code: 'c', codeVerifier: 'v', redirectUri: 'r', [field]: undefined };
    const response = await post('/oidc/token', parts);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { errors: [{ extensions: { code: 'INVALID_REQUEST', field } }] },
    ]);
  });
});

describe('a token is refused', () => {
  const refused: [string, () => Promise<string> | string][] = [
    ['that has expired 61 s ago', () => provider.sign(claimsOf({ exp: nowSeconds() - 61 }))],
    ['that begins in more than a minute', () => provider.sign(claimsOf({ nbf: nowSeconds() + 90 }))],
    ['of another audience', () => provider.sign(claimsOf({ aud: 'other' }))],
    ['of another issuer', () => provider.sign(claimsOf({ iss: 'https://example.com' }))],
    ['without an end', () => provider.sign(claimsOf({ exp: undefined }))],
    ['without a person', () => provider.sign(claimsOf({ sub: undefined }))],
    ['that is a logout token', () => provider.sign(claimsOf({ events: {} }))],
    ['without a signature', () => `${encode({ alg: 'none' })}.${encode(claimsOf())}.`],
    [
      'signed with HMAC by the public key',
      () =>
        new SignJWT(claimsOf())
          .setProtectedHeader({ alg: 'HS256', kid: provider.kid() })
          .sign(new TextEncoder().encode('a'.repeat(64))),
    ],
    [
      'signed by a swapped key',
      async () => {
        const { privateKey } = await generateKeyPair('RS256');
        return new SignJWT(claimsOf())
          .setProtectedHeader({ alg: 'RS256', kid: provider.kid() })
          .sign(privateKey);
      },
    ],
    [
      'that brings its own key',
      async () => {
        const { privateKey } = await generateKeyPair('RS256');
        return new SignJWT(claimsOf())
          .setProtectedHeader({ alg: 'RS256', jku: 'http://127.0.0.1:1/keys', kid: 'mine' })
          .sign(privateKey);
      },
    ],
    [
      'whose claims have been changed',
      async () => {
        const [header, , signature] = (await provider.sign(claimsOf())).split('.');
        return `${header}.${encode(claimsOf({ roles: ['operator'] }))}.${signature}`;
      },
    ],
  ];
  test.each(refused)('%s', async (_what, make) => {
    expect(await who(await provider.sign(claimsOf()))).toBe('oidc:vic VIEWER');
    expect(await who(await make())).toBe(401);
  });

  test('not within the minute that clocks may differ', async () => {
    expect(await who(await provider.sign(claimsOf({ exp: nowSeconds() - 30 })))).toBe('oidc:vic VIEWER');
  });

  test('with the words to sign in again once it has expired', async () => {
    const { message } = await ask(await provider.sign(claimsOf({ exp: nowSeconds() - 61 })));
    expect(message).toBe('The sign-in has expired. Sign in again.');
  });
});

describe('a session that the provider ends', () => {
  const logOut = async (notice: string) => {
    const body = new URLSearchParams({ logout_token: notice });
    return (await fetch(`${origin()}/oidc/logout`, { method: 'POST', body })).status;
  };

  test('ends at the gateway at once, and no other', async () => {
    const browser = provider.browse();
    const [ended, other] = [await signIn('vic', browser), await signIn('vic')];
    expect(await who(ended)).toBe('vic@example.com VIEWER');
    await browser.signOut();
    await expect.poll(() => who(ended)).toBe(401);
    expect(await who(other)).toBe('vic@example.com VIEWER');
  });

  test('of a person ends if it began by the notice, and not if it began later, however often notices come', async () => {
    const now = nowSeconds();
    const beganAt = (iat: number) => provider.sign(claimsOf({ sub: 'ann', iat }));
    const [early, late] = [await beganAt(now - 90), await beganAt(now - 30)];
    const noticeAt = async (iat: number) => {
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
      const claims = { iss: provider.issuer, aud: CLIENT, sub: 'ann', jti: `${iat}`, iat, events };
      return logOut(await provider.sign(claims));
    };
    for (const noticed of [now - 60, now - 120, now - 60]) {
      expect(await noticeAt(noticed)).toBe(200);
      expect([await who(early), await who(late)]).toEqual([401, 'oidc:ann VIEWER']);
    }
  });
});

describe("the provider's keys", () => {
  // Time only goes forward: it is not set back between the tests.
  const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
  beforeAll(() => {
    vi.useFakeTimers({ toFake: ['Date'] });
    // Beyond the second in which the tests above ended sessions.
    pass(2);
  });
  afterAll(() => void vi.useRealTimers());
  const lasting = (more: object = {}) => provider.sign(claimsOf({ exp: nowSeconds() + 7200, ...more }));

  test('are fetched again for a key that is new, at most every 30 s', async () => {
    expect(await who(await lasting())).toBe('oidc:vic VIEWER');
    await provider.rotateKeys();
    pass(31);
    expect(await who(await lasting())).toBe('oidc:vic VIEWER');
  });

  test('keep those in who are in while the provider is down', async () => {
    const [inside, short] = [await lasting(), await lasting({ exp: nowSeconds() + 300 })];
    for (const token of [inside, short]) expect(await who(token)).toBe('oidc:vic VIEWER');
    const exchange = await provider.browse().signIn('olga');
    provider.setDown(true);
    pass(601);
    expect([await who(inside), await who(short)]).toEqual(['oidc:vic VIEWER', 401]);
    expect((await post('/oidc/token', exchange)).status).toBe(503);
    expect(await who(STATIC)).toBe('tool VIEWER');
  });
});

const CLIENT = 'srs-dashboard';
const STATIC = 's'.repeat(32);
let provider: OpenIdProvider;
let gateway: HttpServer;
const audited: AuditEntry[] = [];

async function startAll({ system }: Given<'system'>): Promise<void> {
  provider = await startOpenIdProvider(CLIENT, origin);
  const environment = {
    OIDC_ISSUER: provider.issuer,
    OIDC_AUDIENCE: CLIENT,
    GATEWAY_TOKENS: `tool:viewer:${STATIC}`,
    GRAPHQL_PORT: '0',
    SCHEDULING_URL: system.schedulingTarget,
    ACCOUNTS_URL: system.accountsTarget,
    REMINDERS: 'off',
    LOG_LEVEL: 'silent',
    TRUSTED_PROXIES: 'loopback',
  };
  gateway = await startGateway({
    config: readEnvironment(environment, readGatewayConfig),
    logger: createLogger('test', 'silent'),
    audit: (entry) => void audited.push(entry),
  });
  provider.configure();
}

async function stopAll(): Promise<void> {
  await gateway.close();
  await provider.stop();
}

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');

async function ask(token: string, query = '{ caller { name role } }') {
  const response = await fetch(`${origin()}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: the shape is that of each query
  const { data, errors } = (await response.json()) as any;
  return { status: response.status, data, message: errors?.[0]?.message };
}

async function signIn(login: string, browser = provider.browse()): Promise<string> {
  const response = await post('/oidc/token', await browser.signIn(login));
  expect(response.status).toBe(200);
  const { token } = (await response.json()) as { token: string };
  return token;
}

const origin = () => `http://127.0.0.1:${gateway.port}`;

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${origin()}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
/** Name and role behind a token, or the status of the refusal. */
const who = async (token: string) => {
  const { status, data } = await ask(token);
  return data ? `${data.caller.name} ${data.caller.role}` : status;
};
const nowSeconds = () => Math.floor(Date.now() / 1000);
const claimsOf = (more: object = {}) => ({
  iss: provider.issuer,
  aud: CLIENT,
  sub: 'vic',
  roles: ['viewer'],
  iat: nowSeconds(),
  exp: nowSeconds() + 600,
  ...more,
});
