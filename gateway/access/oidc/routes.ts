// What signing in needs besides GraphQL: where to sign in, the exchange of a code, and the end of a session.
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';
import { invalidField, ServiceError, unavailable } from '../../../services/platform/errors.ts';
import { PER_ADDRESS } from '../../../services/platform/http/address-limit.ts';
import { parseJson } from '../../../services/platform/text.ts';
import { oneLine } from '../../../services/platform/thrown.ts';
import { fetchFromProvider } from './provider.ts';
import type { SignIn } from './verifier.ts';

const BODY_BYTES = 16_384;
/** Per minute and client address, which several people can share: an exchange needs no authentication. */
const EXCHANGES_A_MINUTE = 30;

/** `signIn`: undefined if people have gateway tokens only, which the dashboard learns from /oidc/settings. */
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
  app.register(async (exchanges) => {
    await exchanges.register(rateLimit, {
      ...PER_ADDRESS,
      max: EXCHANGES_A_MINUTE,
      errorResponseBuilder: () =>
        new ServiceError('RATE_LIMITED', {
          message: 'Too many sign-ins from this address. Try again in a minute.',
          retryAfterSeconds: 60,
        }),
    });
    // The page cannot ask the provider itself: its Content-Security-Policy allows no other origin.
    exchanges.post('/oidc/token', { bodyLimit: BODY_BYTES }, async ({ body }) => {
      const form = new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: clientId,
        code: readText(body, 'code'),
        code_verifier: readText(body, 'codeVerifier'),
        redirect_uri: readText(body, 'redirectUri'),
      });
      const addresses = await provider.addresses();
      const token = await exchange(addresses.token, form);
      return { token, ...(await verifier.identify(token)) };
    });
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

async function exchange(address: string, form: URLSearchParams): Promise<string> {
  const response = await fetchFromProvider(address, { method: 'POST', body: form });
  const body = await response.text().catch((error: unknown) => {
    throw unavailable(oneLine(error));
  });
  // Down behind a proxy, or only now.
  if (response.status >= 500) throw unavailable(`the provider answers ${response.status}`);
  const token: unknown = Object(parseJson(body)).id_token;
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
