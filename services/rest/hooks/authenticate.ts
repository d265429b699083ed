// Verifies the API key of a request (401) and checks the route's scopes (403).
import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../platform/errors.ts';
import { callOf } from '../call.ts';
import type { KeyVerifier } from '../key-verifier.ts';
import type { Principal } from '../mapper.ts';
import type { Scope } from '../schemas.ts';

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null;
  }
  interface FastifyContextConfig {
    /** One of these scopes is enough; empty: any valid key. */
    scopes?: readonly Scope[];
    /** Whether the route counts against the write limit. */
    isWrite?: boolean;
  }
}

/** Runs before the body is read, so that anonymous requests are refused before any work. */
export function registerAuthentication(app: FastifyInstance, verifier: KeyVerifier): void {
  app.decorateRequest('principal', null);
  app.addHook('onRequest', async (request) => {
    const key = keyOf(request);
    if (key === undefined) throw new ServiceError('UNAUTHORIZED');
    const principal = await verifier.verify({ key, digest: hash('sha256', key, 'base64') }, callOf(request));
    request.principal = principal;
    const { scopes = [] } = request.routeOptions.config;
    if (scopes.length > 0 && !scopes.some((scope) => principal.scopes.includes(scope))) {
      throw new ServiceError('INSUFFICIENT_SCOPE', { requiredScopes: scopes });
    }
  });
}

/** The authenticated caller. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal === null) throw new Error('the route is not behind authentication');
  return request.principal;
}

/** A Bearer token wins and never falls back to the key header, even if it is not an API key. */
function keyOf({ headers }: FastifyRequest): string | undefined {
  const bearer = /^bearer(?: +(.*))?$/i.exec(headers.authorization ?? '');
  if (bearer !== null) return bearer[1] ?? '';
  const key = headers['x-service-api-key'];
  return typeof key === 'string' ? key : undefined;
}
