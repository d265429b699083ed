// A real OpenID provider (npm oidc-provider) on loopback, whose people sign in with any password.
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';

/** The roles of each person, by login; anybody else has none. */
const ROLES: Readonly<Record<string, string[]>> = { olga: ['operator', 'other'], vic: ['viewer'] };

export type OpenIdProvider = Awaited<ReturnType<typeof startOpenIdProvider>>;
type SigningKey = Awaited<ReturnType<typeof makeKey>>;

/** `gatewayOrigin` is called when the provider begins to serve. */
export async function startOpenIdProvider(clientId: string, gatewayOrigin: () => string) {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) =>
    void response.writeHead(503).end();
  let isDown = false;
  const server = createServer((request, response) => {
    if (isDown) request.destroy();
    else handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const issuer = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  let signingKey = await makeKey();
  const configure = () => {
    const provider = new Provider(issuer, configuration(clientId, gatewayOrigin(), signingKey));
    handle = provider.callback();
  };
  return {
    issuer,
    /** Begins to serve; asks for the gateway's origin. */
    configure,
    /** Replaces the signing key; the old one is gone from the published keys. */
    async rotateKeys() {
      signingKey = await makeKey();
      configure();
    },
    setDown: (down: boolean) => {
      isDown = down;
      if (down) server.closeAllConnections();
    },
    /** A token of the provider's own signature, for what it would never issue itself. */
    sign: (claims: JWTPayload, header: { alg?: string; typ?: string } = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: signingKey.kid, ...header })
        .sign(signingKey.key),
    kid: () => signingKey.kid,
    browse: () => createBrowser(issuer, clientId, `${gatewayOrigin()}/dashboard/`),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function makeKey() {
  const kid = randomBytes(8).toString('hex');
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { kid, key: privateKey, jwk: { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' } };
}

function configuration(clientId: string, origin: string, { jwk }: SigningKey): Configuration {
  return {
    clients: [
      {
        client_id: clientId,
        redirect_uris: [`${origin}/dashboard/`],
        post_logout_redirect_uris: [],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        grant_types: ['authorization_code'],
        response_types: ['code'],
        backchannel_logout_uri: `${origin}/oidc/logout`,
        backchannel_logout_session_required: true,
      },
    ],
    jwks: { keys: [jwk] },
    // The provider's own fetch refuses loopback.
    fetch: (url, options) => fetch(url, omit(options, 'dispatcher')),
    cookies: { keys: ['for tests'] },
    conformIdTokenClaims: false,
    claims: { openid: ['sub', 'roles'], email: ['email', 'email_verified'] },
    features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
    ttl: { IdToken: 600, AccessToken: 600, Session: 3600, Interaction: 600, Grant: 3600 },
    findAccount: (_context, login) => ({
      accountId: login,
      claims: () => ({
        sub: login,
        roles: ROLES[login] ?? [],
        email: `${login}@example.com`,
        email_verified: login !== 'olga',
      }),
    }),
  };
}

function omit<T extends object, K extends keyof T>(whole: T | undefined, name: K): Omit<T, K> {
  const { [name]: _omitted, ...rest } = whole ?? ({} as T);
  return rest;
}

/** Walks through the provider's pages as a browser without scripts would. */
function createBrowser(issuer: string, clientId: string, redirectUri: string) {
  const cookies = new Map<string, string>();
  async function request(url: string, form?: Record<string, string>): Promise<Response> {
    const response = await fetch(new URL(url, issuer), {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (cookie.split(';')[0] ?? '').split('=');
      cookies.set(name, value);
    }
    return response;
  }
  return {
    /** Signs in and returns what the page would exchange for a token. */
    async signIn(login: string) {
      const codeVerifier = randomBytes(32).toString('base64url');
      const query = new URLSearchParams({
        client_id: clientId,
        response_type: 'code',
        scope: 'openid email',
        redirect_uri: redirectUri,
        code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
        code_challenge_method: 'S256',
      });
      let url = `${issuer}/auth?${query}`;
      for (let step = 0; step < 12; step++) {
        const response = await request(url);
        const next = response.headers.get('location');
        if (next?.startsWith(redirectUri)) {
          return { code: new URL(next).searchParams.get('code') ?? '', codeVerifier, redirectUri };
        }
        if (next !== null) url = next;
        else {
          const prompt = /name="prompt" value="(\w+)"/.exec(await response.text())?.[1] ?? '';
          const answer = await request(url, { prompt, login, password: 'any' });
          url = answer.headers.get('location') ?? '';
        }
      }
      throw new Error('the provider did not come back with a code');
    },
    /** Ends the session, of which the provider tells the gateway before it answers. */
    async signOut() {
      const page = await (await request('/session/end')).text();
      const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
      await request('/session/end/confirm', { xsrf, logout: 'yes' });
    },
  };
}
