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

  test('happens again after ten minutes, so that the provider can move, and nobody who is in notices', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] });
    const exp = Math.floor(Date.now() / 1000) + 7200;
    const inside = await provider.sign({ exp });
    expect(await gateway.who(inside)).toBe('oidc:vic VIEWER');
    const next = await newKey('next');
    provider.answer(DISCOVERY, json({ ...provider.discovery, jwks_uri: `${provider.origin}/moved` }));
    provider.answer('/keys', json({}, 404));
    provider.answer('/moved', json({ keys: [provider.key.jwk, next.jwk] }));
    vi.advanceTimersByTime(599_000);
    expect(await gateway.who(inside)).toBe('oidc:vic VIEWER');
    vi.advanceTimersByTime(2000);
    expect(await gateway.who(inside)).toBe('oidc:vic VIEWER');
    expect(await gateway.who(await provider.sign({ sub: 'olga', exp }, next))).toBe('oidc:olga VIEWER');
    expect(await gateway.who(inside)).toBe('oidc:vic VIEWER');
    expect(provider.asked).toEqual([DISCOVERY, '/keys', DISCOVERY, '/moved']);
    expect(logged()).toEqual([]);
  });

  test('that names a new address of keys, which is down, keeps in who is in, and lets others in once it is up', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] });
    const exp = Math.floor(Date.now() / 1000) + 7200;
    const inside = await provider.sign({ exp });
    expect(await gateway.who(inside)).toBe('oidc:vic VIEWER');
    provider.answer(DISCOVERY, json({ ...provider.discovery, jwks_uri: `${provider.origin}/moved` }));
    provider.answer('/moved', json({}, 503));
    vi.advanceTimersByTime(601_000);
    const outside = await provider.sign({ sub: 'olga', exp });
    expect(await gateway.who(outside)).toBe(AWAY);
    expect(provider.asked).toEqual([DISCOVERY, '/keys', DISCOVERY, '/moved']);
    expect(await gateway.who(inside)).toBe('oidc:vic VIEWER');
    provider.answer('/moved', json({ keys: [provider.key.jwk] }));
    vi.advanceTimersByTime(5000);
    expect(await gateway.who(outside)).toBe('oidc:olga VIEWER');
  });

  test('happens again after keys that cannot be fetched, which let nobody in', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    provider.answer('/keys', json({}, 500));
    expect(await gateway.who(await provider.sign())).toBe(AWAY);
    expect(logged()).toEqual([[expect.stringContaining('200 OK'), LOGGED]]);
    provider.answer(DISCOVERY, json({ ...provider.discovery, jwks_uri: `${provider.origin}/moved` }));
    provider.answer('/moved', json({ keys: [provider.key.jwk] }));
    vi.advanceTimersByTime(5000);
    expect(await gateway.who(await provider.sign())).toBe('oidc:vic VIEWER');
  });

  test('that fails then leaves the addresses as they were', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { body } = await gateway.settings();
    provider.answer(DISCOVERY, json({}, 503));
    vi.advanceTimersByTime(600_000);
    expect([await gateway.settings(), await gateway.settings()]).toMatchObject(
      Array(2).fill({ status: 200, body }),
    );
    expect(provider.asked).toEqual([DISCOVERY, DISCOVERY]);
    expect(logged()).toEqual([['discovery answers 503', LOGGED]]);
  });

  test('that fails then keeps nobody out, and keys are still fetched again', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] });
    const exp = Math.floor(Date.now() / 1000) + 7200;
    expect(await gateway.who(await provider.sign({ exp }))).toBe('oidc:vic VIEWER');
    const next = await newKey('next');
    provider.answer(DISCOVERY, json({}, 503));
    provider.answer('/keys', json({ keys: [next.jwk] }));
    vi.advanceTimersByTime(600_000);
    expect(await gateway.who(await provider.sign({ sub: 'olga', exp }, next))).toBe('oidc:olga VIEWER');
    expect(await gateway.who(await provider.sign({ sub: 'otto', exp }, next))).toBe('oidc:otto VIEWER');
    expect(provider.asked).toEqual([DISCOVERY, '/keys', DISCOVERY, '/keys']);
    expect(logged()).toEqual([['discovery answers 503', LOGGED]]);
  });

  const BAD: [
    what: string,
    (own: ScriptedProvider) => Parameters<ScriptedProvider['answer']>[1],
    reason: string,
  ][] = [
    ['fails', ({ discovery }) => json(discovery, 500), 'discovery answers 500'],
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
      'fetch failed',
    ],
  ];

  test(`that ${BAD.map(([what]) => what).join(', ')} lets nobody in`, async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    for (const [what, answer, reason] of BAD) {
      provider.asked.length = 0;
      provider.answer(DISCOVERY, answer(provider));
      expect(await gateway.who(await provider.sign()), what).toBe(AWAY);
      expect(logged().at(-1)).toEqual([reason, LOGGED]);
      expect(provider.asked, what).toEqual([DISCOVERY]);
      vi.advanceTimersByTime(5000);
    }
    expect(logged()).toHaveLength(BAD.length);
    expect(gateway.causes()).toEqual(BAD.map(([, , reason]) => reason));
  });
});

describe('a key that cannot be used', () => {
  beforeEach(start);
  afterEach(stop);

  test('is the refusal of its tokens alone: nobody else waits, and nothing is paused', async () => {
    const bad = await newKey('bad');
    const unusable = { kty: 'EC', kid: 'bad', alg: 'ES256', crv: 'P-256', x: 'AA', y: 'AA' };
    provider.answer('/keys', json({ keys: [unusable, provider.key.jwk] }));
    expect(await gateway.who(await provider.sign({ sub: 'eve' }, bad))).toBe(REFUSED);
    expect(await gateway.who(await provider.sign())).toBe('oidc:vic VIEWER');
    expect([logged(), provider.asked]).toEqual([[], [DISCOVERY, '/keys']]);
  });
});

describe('a provider that does not answer', () => {
  beforeEach(start);
  afterEach(stop);

  test('is left alone for five seconds, and then asked again', async () => {
    const startMs = performance.now();
    vi.useFakeTimers({ toFake: ['performance'], now: startMs });
    provider.answer(DISCOVERY, json({}, 503));
    const token = await provider.sign();
    expect(await gateway.who(token)).toBe(AWAY);
    vi.advanceTimersByTime(4999);
    expect(await gateway.who(token)).toBe(AWAY);
    expect((await gateway.settings()).status).toBe(503);
    expect(provider.asked).toEqual([DISCOVERY]);
    vi.advanceTimersByTime(1);
    expect(await gateway.who(token)).toBe(AWAY);
    provider.behave();
    expect(await gateway.who(token)).toBe(AWAY);
    expect(logged()).toEqual(Array(2).fill(['discovery answers 503', LOGGED]));
    vi.advanceTimersByTime(5000);
    expect(await gateway.who(token)).toBe('oidc:vic VIEWER');
    expect(provider.asked).toEqual([DISCOVERY, DISCOVERY, DISCOVERY, '/keys']);
    expect(logged()).toHaveLength(2);
  });

  test('is told of once, however many asked at that moment', async () => {
    let release = () => {};
    provider.answer(DISCOVERY, (_request, response) => {
      release = () => void response.writeHead(502).end();
    });
    const token = await provider.sign();
    const answers = [1, 2, 3].map(() => gateway.who(token));
    await expect.poll(() => provider.asked).toEqual([DISCOVERY]);
    // All three wait for the one question.
    for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
    release();
    expect(await Promise.all(answers)).toEqual([AWAY, AWAY, AWAY]);
    expect(logged()).toEqual([['discovery answers 502', LOGGED]]);
  });
});

describe('a key', () => {
  beforeEach(start);
  afterEach(stop);

  test('that the provider does not know says nothing against the provider', async () => {
    const stranger = await newKey('stranger');
    expect(await gateway.who(await provider.sign({}, stranger))).toBe(REFUSED);
    expect(await gateway.who(await provider.sign())).toBe('oidc:vic VIEWER');
    expect(logged()).toEqual([]);
  });

  test('that a token leaves open between two is none, and says nothing against the provider', async () => {
    const second = await newKey('second');
    provider.answer('/keys', json({ keys: [provider.key.jwk, second.jwk] }));
    expect(await gateway.who(await provider.sign({}, second, { kid: undefined }))).toBe(REFUSED);
    expect(await gateway.who(await provider.sign({}, second))).toBe('oidc:vic VIEWER');
    expect(logged()).toEqual([]);
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

  test('withdrawn for ten minutes ends at once for those who come anew, and with the first question for those inside', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const inside = await provider.sign({ exp: Math.floor(Date.now() / 1000) + 7200 });
    expect(await gateway.who(inside)).toBe('oidc:vic VIEWER');
    const next = await newKey('next');
    provider.answer('/keys', json({ keys: [next.jwk] }));
    vi.setSystemTime(Date.now() + 599_000);
    expect(await gateway.who(inside)).toBe('oidc:vic VIEWER');
    expect(provider.asked).toEqual([DISCOVERY, '/keys']);
    vi.setSystemTime(Date.now() + 2000);
    expect(await gateway.who(inside)).toBe('oidc:vic VIEWER');
    await expect.poll(() => gateway.who(inside)).toBe(REFUSED);
    expect(provider.asked.slice(0, 3)).toEqual([DISCOVERY, '/keys', '/keys']);
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

  test('takes 16 at once, and each makes room, whatever comes of it', async () => {
    const held: (() => void)[] = [];
    provider.answer('/token', (_request, response) => {
      held.push(() => void response.writeHead(400).end('{}'));
    });
    const answers = Promise.all(
      Array.from({ length: 33 }, (_, stranger) => gateway.exchange(parts, `198.51.100.${stranger}`)),
    );
    for (const asked of [16, 16, 1]) {
      await expect.poll(() => held.length).toBe(asked);
      for (const release of held.splice(0)) release();
    }
    expect((await answers).map(({ status }) => status)).toEqual(Array(33).fill(401));
  });

  test('gives an address a share: two at once, four that wait, thirty a minute, and others go first', async () => {
    const held: (() => void)[] = [];
    provider.answer('/token', (_request, response) => {
      held.push(() => void response.writeHead(400).end('{}'));
    });
    const flood = Array.from({ length: 10 }, () => gateway.exchange(parts, '192.0.2.1'));
    await expect.poll(() => held.length).toBe(2);
    const other = gateway.exchange(parts, '192.0.2.2');
    await expect.poll(() => held.length).toBe(3);
    const refused = Promise.race(flood);
    expect((await refused).status).toBe(503);
    provider.answer('/token', json({}, 400));
    for (const release of held) release();
    const statuses = (await Promise.all(flood)).map(({ status }) => status).toSorted();
    expect([statuses, (await other).status]).toEqual([[...Array(6).fill(401), ...Array(4).fill(503)], 401]);
    provider.asked.length = 0;
    const later = await Promise.all(
      Array.from({ length: 25 }, async (_, turn) => {
        while (provider.asked.length < Math.min(turn, 20)) await new Promise(setImmediate);
        return gateway.exchange(parts, '192.0.2.1');
      }),
    );
    expect(later.map(({ status }) => status).toSorted()).toEqual([
      ...Array(20).fill(401),
      ...Array(5).fill(429),
    ]);
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
const LOGGED = 'the OpenID provider of OIDC_ISSUER does not answer as expected';
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

const logged = () => gateway.errors().map(({ reason, msg }) => [reason, msg]);
