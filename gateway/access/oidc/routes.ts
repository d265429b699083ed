// What signing in needs besides GraphQL: where to sign in, the exchange of a code, and the end of a session.
import type { FastifyInstance } from 'fastify';
import { atMost } from '../../../services/platform/concurrency.ts';
import { invalidField, ServiceError } from '../../../services/platform/errors.ts';
import { fetchFromProvider, providerTimeout } from './provider.ts';
import type { SignIn } from './verifier.ts';

const BODY_BYTES = 16_384;
/** Exchanges at once; anybody can ask for one. Others wait, within the time that an exchange may take. */
const MOST_EXCHANGES = 16;

/** `signIn`: undefined where people have gateway tokens only, which the dashboard asks for here. */
export function registerOidcRoutes(app: FastifyInstance, signIn: SignIn | undefined): void {
  app.get('/oidc/settings', async () => {
    if (signIn === undefined) return { provider: null };
    const { authorization } = await signIn.provider.addresses();
    return {
      provider: { authorizationEndpoint: authorization, clientId: signIn.clientId, scope: 'openid email' },
    };
  });
  if (signIn !== undefined) registerSignIn(app, signIn);
}

/** Registers /oidc/token for the dashboard and /oidc/logout for the provider. */
function registerSignIn(app: FastifyInstance, { clientId, provider, verifier }: SignIn): void {
  const limitExchanges = atMost(MOST_EXCHANGES);

  // The page cannot ask the provider itself: its Content-Security-Policy allows no other origin.
  app.post('/oidc/token', { bodyLimit: BODY_BYTES }, async ({ body }) => {
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: clientId,
      code: readText(body, 'code'),
      code_verifier: readText(body, 'codeVerifier'),
      redirect_uri: readText(body, 'redirectUri'),
    });
    const signal = providerTimeout();
    const token = await limitExchanges(async () => {
      const { token: address } = await provider.addresses();
      return exchange(address, form, signal);
    });
    return { token, ...(await verifier.identify(token)) };
  });

  app.register(async (logout) => {
    logout.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: BODY_BYTES },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    );
    logout.post('/oidc/logout', async ({ body }, reply) => {
      await verifier.endSession(readText(body, 'logout_token'));
      return reply.code(200).send();
    });
  });
}

async function exchange(address: string, form: URLSearchParams, signal: AbortSignal): Promise<string> {
  const request = { method: 'POST', body: form, signal };
  const response = await fetchFromProvider(address, request).catch((cause: unknown) => {
    throw new ServiceError('UNAVAILABLE', { cause });
  });
  const answer: unknown = await response.json().catch(() => undefined);
  // Down behind a proxy, or only now.
  if (response.status >= 500)
    throw new ServiceError('UNAVAILABLE', { cause: new Error(`The provider answers ${response.status}`) });
  const token: unknown = Object(answer).id_token;
  if (response.ok && typeof token === 'string') return token;
  throw new ServiceError('UNAUTHORIZED', {
    message: 'The provider has not accepted the sign-in. Sign in again.',
  });
}

function readText(body: unknown, name: string): string {
  const value: unknown = Object(body)[name];
  if (typeof value === 'string' && value !== '') return value;
  throw invalidField(name, 'must be given once, as text.');
}
