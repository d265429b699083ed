// An OpenID provider whose every answer is the test's, for what a real one never does, and a gateway that trusts it.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { pino } from 'pino';
import { startGateway } from '../../gateway/app.ts';
import { readGatewayConfig } from '../../gateway/config.ts';
import { readEnvironment } from '../../services/platform/process/config.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
type Path = '/.well-known/openid-configuration' | '/keys' | '/token';
export type ScriptedProvider = Awaited<ReturnType<typeof startScriptedProvider>>;

export const CLIENT = 'srs-dashboard';
export const json =
  (body: unknown, status = 200): Answer =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

export async function startScriptedProvider() {
  const key = await newKey('first');
  const answers = new Map<string, Answer>();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    (answers.get(path) ?? json({}, 404))(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  const discovery = {
    issuer: origin,
    authorization_endpoint: `${origin}/auth`,
    token_endpoint: `${origin}/token`,
    jwks_uri: `${origin}/keys`,
  };
  const provider = {
    origin,
    key,
    discovery,
    /** The paths asked for, in their order. */
    asked,
    answer: (path: Path, answer: Answer) => void answers.set(path, answer),
    /** As a provider that works answers. */
    behave(issuer = origin) {
      provider.answer('/.well-known/openid-configuration', json({ ...discovery, issuer }));
      provider.answer('/keys', json({ keys: [key.jwk] }));
      provider.answer('/token', json({}, 400));
    },
    claims: (more: object = {}): JWTPayload => {
      const nowSeconds = Math.floor(Date.now() / 1000);
      const times = { iat: nowSeconds, exp: nowSeconds + 600 };
      return { iss: origin, aud: CLIENT, sub: 'vic', roles: ['viewer'], ...times, ...more };
    },
    sign: (more: object = {}, by: Key = key, header: object = {}) =>
      new SignJWT(provider.claims(more))
        .setProtectedHeader({ alg: by.alg, kid: by.jwk.kid, ...header })
        .sign(by.privateKey),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  provider.behave();
  return provider;
}

/** `privateKey` is of Web Crypto or of Node. */
type Key = Omit<Awaited<ReturnType<typeof newKey>>, 'privateKey'> & {
  privateKey: Parameters<SignJWT['sign']>[0];
};

export async function newKey(kid: string, alg = 'ES256') {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } };
}

/** A gateway whose people sign in at `issuer`. Nothing that is asked of it here needs a service. */
export async function startSignInGateway(issuer: string, more: Record<string, string> = {}) {
  const lines: { cause?: string }[] = [];
  const environment = {
    OIDC_ISSUER: issuer,
    OIDC_AUDIENCE: CLIENT,
    GRAPHQL_PORT: '0',
    SCHEDULING_URL: '127.0.0.1:1',
    ACCOUNTS_URL: '127.0.0.1:1',
    REMINDERS: 'off',
    TRUSTED_PROXIES: 'loopback',
    ...more,
  };
  const gateway = await startGateway({
    config: readEnvironment(environment, readGatewayConfig),
    logger: pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) }),
    audit: () => {},
  });
  const origin = `http://127.0.0.1:${gateway.port}`;
  const send = async (path: string, init: RequestInit) => {
    const response = await fetch(`${origin}${path}`, { method: 'POST', ...init });
    const text = await response.text();
    // biome-ignore lint/suspicious/noExplicitAny: the shape is that of each answer
    const body: any = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, body, message: body?.errors?.[0]?.message };
  };
  const ask = (authorization: string) =>
    send('/graphql', {
      headers: { 'content-type': 'application/json', authorization },
      body: JSON.stringify({ query: '{ caller { name role } }' }),
    });
  return {
    /** Why requests were answered 503, by their log lines. */
    causes: () => lines.flatMap(({ cause }) => cause ?? []),
    ask,
    /** Name and role behind a token, or the status and message of the refusal. */
    async who(token: string): Promise<string> {
      const { status, body, message } = await ask(`Bearer ${token}`);
      return body.data ? `${body.data.caller.name} ${body.data.caller.role}` : `${status} ${message}`;
    },
    settings: () => send('/oidc/settings', { method: 'GET' }),
    /** From an address of a stranger, behind a proxy. */
    exchange: (body: unknown, address = '203.0.113.1') =>
      send('/oidc/token', {
        headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
        body: JSON.stringify(body),
      }),
    /** The status that a logout token, or another form, is answered with. */
    logout: (form: string | Record<string, string>) =>
      send('/oidc/logout', {
        body: new URLSearchParams(typeof form === 'string' ? { logout_token: form } : form),
      }),
    stop: () => gateway.close(),
  };
}
