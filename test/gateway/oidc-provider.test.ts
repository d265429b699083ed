// A sign-in provider that errs: what the gateway asks of it, how often, and what it believes.
import { generateKeyPairSync } from 'node:crypto';
import { exportJWK } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  json,
  newKey,
  type ScriptedProvider,
  startScriptedProvider,
  startSignInGateway,
} from '../support/scripted-provider.ts';

describe('discovery', () => {
  beforeEach(start);
  afterEach(stop);

  test('waits for the first token, happens once, and tells a page where to sign in, and as which client', async () => {
    expect(provider.asked).toEqual([]);
    expect(await gateway.who(await provider.sign())).toBe('oidc:vic VIEWER');
    expect(await gateway.who(await provider.sign({ sub: 'olga' }))).toBe('oidc:olga VIEWER');
    expect(await gateway.settings()).toMatchObject({
      status: 200,
      body: {
        provider: {
          authorizationEndpoint: `${provider.origin}/auth`,
          clientId: 'srs-dashboard',
          scope: 'openid email',
        },
      },
    });
    expect(provider.asked).toEqual([DISCOVERY, '/keys']);
  });

  test('asks below an issuer that ends with a slash, which its tokens name with it', async () => {
    const issuer = `${provider.origin}/`;
    provider.behave(issuer);
    const other = await startSignInGateway(issuer);
    expect(await other.who(await provider.sign({ iss: issuer }))).toBe('oidc:vic VIEWER');
    expect(await other.who(await provider.sign())).toBe(REFUSED);
    expect(provider.asked[0]).toBe(DISCOVERY);
    await other.stop();
  });

  test('happens again for the next token where it failed', async () => {
    provider.answer(DISCOVERY, json({}, 503));
    const token = await provider.sign();
    expect([await gateway.who(token), (await gateway.settings()).status]).toEqual([AWAY, 503]);
    provider.behave();
    expect(await gateway.who(token)).toBe('oidc:vic VIEWER');
    expect(provider.asked).toEqual([DISCOVERY, DISCOVERY, DISCOVERY, '/keys']);
  });

  const BAD: [
    what: string,
    (own: ScriptedProvider) => Parameters<ScriptedProvider['answer']>[1],
    reason: string,
  ][] = [
    ['fails', ({ discovery }) => json(discovery, 500), 'openid-configuration answers 500'],
    [
      'names another issuer',
      ({ discovery }) => json({ ...discovery, issuer: 'https://example.com' }),
      'discovery names another issuer than OIDC_ISSUER',
    ],
    [
      'lacks the keys',
      ({ discovery }) => json({ ...discovery, jwks_uri: undefined }),
      'discovery lacks jwks_uri',
    ],
    ['is no object', () => json(null), 'discovery lacks issuer'],
    [
      'names keys that travel in the open',
      ({ discovery }) => json({ ...discovery, jwks_uri: 'http://example.com/keys' }),
      'discovery names an address without https',
    ],
    [
      'leads elsewhere',
      ({ origin }) =>
        (_request, response) =>
          void response.writeHead(302, { location: `${origin}/keys` }).end(),
      'unexpected redirect',
    ],
  ];

  test(`that ${BAD.map(([what]) => what).join(', ')} lets nobody in`, async () => {
    for (const [what, answer] of BAD) {
      provider.asked.length = 0;
      provider.answer(DISCOVERY, answer(provider));
      expect(await gateway.who(await provider.sign()), what).toBe(AWAY);
      expect(provider.asked, what).toEqual([DISCOVERY]);
    }
    expect(gateway.causes()).toEqual(BAD.map(([, , reason]) => expect.stringContaining(reason)));
  });
});

describe('a key that cannot be used', () => {
  beforeEach(start);
  afterEach(stop);

  test('is the refusal of its tokens alone', async () => {
    const bad = await newKey('bad');
    const unusable = { kty: 'EC', kid: 'bad', alg: 'ES256', crv: 'P-256', x: 'AA', y: 'AA' };
    provider.answer('/keys', json({ keys: [unusable, provider.key.jwk] }));
    expect(await gateway.who(await provider.sign({ sub: 'eve' }, bad))).toBe(REFUSED);
    expect(await gateway.who(await provider.sign())).toBe('oidc:vic VIEWER');
    expect(provider.asked).toEqual([DISCOVERY, '/keys']);
  });
});

describe('a key', () => {
  beforeEach(start);
  afterEach(stop);

  test('that the provider does not know lets nobody in', async () => {
    const stranger = await newKey('stranger');
    expect(await gateway.who(await provider.sign({}, stranger))).toBe(REFUSED);
    expect(await gateway.who(await provider.sign())).toBe('oidc:vic VIEWER');
  });

  test('that a token leaves open between two is none', async () => {
    const second = await newKey('second');
    provider.answer('/keys', json({ keys: [provider.key.jwk, second.jwk] }));
    expect(await gateway.who(await provider.sign({}, second, { kid: undefined }))).toBe(REFUSED);
    expect(await gateway.who(await provider.sign({}, second))).toBe('oidc:vic VIEWER');
  });

  test('that is new is fetched for a logout, too', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const inside = await provider.sign({ sid: 's', exp: Math.floor(Date.now() / 1000) + 7200 });
    expect(await gateway.who(inside)).toBe('oidc:vic VIEWER');
    const next = await newKey('next');
    provider.answer('/keys', json({ keys: [provider.key.jwk, next.jwk] }));
    // Until then the provider is not asked again.
    vi.setSystemTime(Date.now() + 31_000);
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    const logout = await provider.sign({ sid: 's', jti: 'j', events }, next);
    expect((await gateway.logout(logout)).status).toBe(200);
    expect(await gateway.who(inside)).toBe(REFUSED);
  });

  test('signs by each of the algorithms of RSA, elliptic curves and Edwards curves', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const jwk = await exportJWK(rsa.publicKey);
    const keys = [
      ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map((alg) => ({
        alg,
        privateKey: rsa.privateKey,
        jwk: { ...jwk, alg, kid: alg },
      })),
      ...(await Promise.all(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'].map((alg) => newKey(alg, alg)))),
    ];
    provider.answer('/keys', json({ keys: keys.map((key) => key.jwk) }));
    for (const key of keys)
      expect(await gateway.who(await provider.sign({ sub: key.alg }, key)), key.alg).toBe(
        `oidc:${key.alg} VIEWER`,
      );
  });

  test('that cannot be fetched is asked for again with the next token', async () => {
    provider.answer('/keys', json({}, 500));
    const token = await provider.sign();
    expect(await gateway.who(token)).toBe(AWAY);
    expect(gateway.causes()).toEqual([expect.stringContaining('/keys answers 500')]);
    provider.behave();
    expect(await gateway.who(token)).toBe('oidc:vic VIEWER');
  });

  test.each([
    ['no JSON', undefined],
    ['no keys', {}],
  ])('is asked for again after an answer of %s, and refuses no token meanwhile', async (_what, body) => {
    provider.answer('/keys', json(body));
    const token = await provider.sign();
    expect(await gateway.who(token)).toBe(AWAY);
    provider.behave();
    expect(await gateway.who(token)).toBe('oidc:vic VIEWER');
  });

  test('that was withdrawn ends within an hour', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const inside = await provider.sign({ exp: Math.floor(Date.now() / 1000) + 7200 });
    expect(await gateway.who(inside)).toBe('oidc:vic VIEWER');
    const next = await newKey('next');
    provider.answer('/keys', json({ keys: [next.jwk] }));
    vi.setSystemTime(Date.now() + 3_599_000);
    expect(await gateway.who(inside)).toBe('oidc:vic VIEWER');
    expect(provider.asked).toEqual([DISCOVERY, '/keys']);
    vi.setSystemTime(Date.now() + 2000);
    expect(await gateway.who(inside)).toBe(REFUSED);
  });
});

describe('the exchange of a code', () => {
  beforeAll(start);
  afterAll(stop);
  const parts = {
    code: 'a code',
    codeVerifier: 'v'.repeat(43),
    redirectUri: 'https://srs.example/dashboard/',
  };

  test('sends the provider what the page has, and answers the token with its name and role', async () => {
    const token = await provider.sign();
    let form = '';
    provider.answer('/token', (request, response) => {
      request.on('data', (chunk) => (form += chunk));
      request.on('end', () => json({ id_token: token })(request, response));
    });
    expect(await gateway.exchange(parts)).toMatchObject({
      status: 200,
      body: { token, name: 'oidc:vic', role: 'viewer' },
    });
    expect(Object.fromEntries(new URLSearchParams(form))).toEqual({
      grant_type: 'authorization_code',
      client_id: 'srs-dashboard',
      code: 'a code',
      code_verifier: 'v'.repeat(43),
      redirect_uri: 'https://srs.example/dashboard/',
    });
  });

  test('believes no token that comes with a refusal, nor anything that is none', async () => {
    const token = await provider.sign();
    const refused = {
      status: 401,
      message: 'The provider has not accepted the sign-in. Sign in again.',
    };
    const answers = [json({ id_token: token }, 400), json({ id_token: 5 }), json({}), json(null)];
    for (const answer of answers) {
      provider.answer('/token', answer);
      expect(await gateway.exchange(parts)).toMatchObject(refused);
    }
    provider.answer('/token', (_request, response) => void response.end('<html>'));
    expect(await gateway.exchange(parts)).toMatchObject(refused);
    provider.answer('/token', json({ id_token: 'a.b.c' }));
    expect(await gateway.exchange(parts)).toMatchObject({
      status: 401,
      message: 'The token is not accepted. Sign in again.',
    });
  });

  test.each([500, 503])(
    'says to try again where the provider answers %i, as a proxy before it may',
    async (status) => {
      provider.answer('/token', json({}, status));
      expect((await gateway.exchange(parts)).status).toBe(503);
    },
  );

  test('says to try again where the answer of the provider ends early', async () => {
    const token = await provider.sign();
    const answer = JSON.stringify({ id_token: token });
    provider.answer('/token', (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length });
      response.write(answer.slice(0, 20), () => response.destroy());
    });
    expect((await gateway.exchange(parts)).status).toBe(503);
  });

  test('does not send the code on where the provider leads elsewhere, or nowhere', async () => {
    provider.answer('/token', (_request, response) => {
      response.writeHead(307, { location: `${provider.origin}/elsewhere` }).end();
    });
    provider.asked.length = 0;
    expect((await gateway.exchange(parts)).status).toBe(503);
    provider.answer('/token', (request) => void request.destroy());
    expect((await gateway.exchange(parts)).status).toBe(503);
    expect(provider.asked).toEqual(['/token', '/token']);
  });

  test.each([
    ['', 'code'],
    [['a code'], 'code'],
    [5, 'code'],
  ])('takes %j for no code', async (code, field) => {
    provider.asked.length = 0;
    expect((await gateway.exchange({ ...parts, code })).body.errors).toMatchObject([
      { message: 'code must be given once, as text.', extensions: { code: 'INVALID_REQUEST', field } },
    ]);
    expect((await gateway.exchange(null)).status).toBe(400);
    expect(provider.asked).toEqual([]);
  });

  test('is made for an address 30 times a minute, and for another one still', async () => {
    provider.answer('/token', json({}, 400));
    const statuses = [];
    for (let turn = 0; turn < 32; turn++)
      statuses.push((await gateway.exchange(parts, `2001:db8::${turn + 1}`)).status);
    expect(statuses).toEqual([...Array(30).fill(401), 429, 429]);
    expect(await gateway.exchange(parts, '2001:db8::1')).toMatchObject({
      message: 'Too many sign-ins from this address. Try again in a minute.',
      body: { errors: [{ extensions: { code: 'RATE_LIMITED', retryAfterSeconds: 60 } }] },
    });
    expect((await gateway.exchange(parts, '2001:db8:0:1::1')).status).toBe(401);
  });

  test('takes a body of 16 KiB, and no larger one', async () => {
    provider.answer('/token', json({}, 400));
    const sized = (bytes: number) => ({
      ...parts,
      code: 'x'.repeat(bytes - JSON.stringify({ ...parts, code: '' }).length),
    });
    expect((await gateway.exchange(sized(16_384))).status).toBe(401);
    expect((await gateway.exchange(sized(16_385))).body.errors).toMatchObject([
      { extensions: { code: 'INVALID_REQUEST', field: 'body' } },
    ]);
  });
});

test('the settings of sign-in are none without a provider, and then nothing is exchanged or ended', async () => {
  const token = 's'.repeat(32);
  const other = await startSignInGateway('', { OIDC_AUDIENCE: '', GATEWAY_TOKENS: `tool:viewer:${token}` });
  expect(await other.settings()).toMatchObject({ status: 200, body: { provider: null } });
  expect([(await other.exchange({})).status, (await other.logout('x')).status]).toEqual([404, 404]);
  const message = 'A gateway token is required. Send it as "Authorization: Bearer <token>".';
  expect(await other.who('a.b.c')).toBe(`401 ${message}`);
  await other.stop();
});

const DISCOVERY = '/.well-known/openid-configuration';
const AWAY = '503 The service cannot answer right now. Try again in a moment.';
const REFUSED = '401 The token is not accepted. Sign in again.';
let provider: ScriptedProvider;
let gateway: Awaited<ReturnType<typeof startSignInGateway>>;
async function start() {
  provider = await startScriptedProvider();
  gateway = await startSignInGateway(provider.origin);
}
async function stop() {
  vi.useRealTimers();
  await gateway.stop();
  await provider.stop();
}
