// Who calls, and may they: the key of a request, verified (401), and held against the route's scopes (403).
import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../platform/errors.ts';
import { callOf } from '../call.ts';
import type { KeyVerifier } from '../key-verifier.ts';
import type { Scope } from '../schemas.ts';
import type { Principal } from '../wire.ts';

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null;
  }
  interface FastifyContextConfig {
    /** Any one of these is enough; none: any valid key. */
    scopes?: readonly Scope[];
    /** Counts in the write limit. */
    isWrite?: boolean;
  }
}

/** Runs before the body is read, so that a stranger is refused before anything is done for them. */
export function registerAuthentication(app: FastifyInstance, verifier: KeyVerifier): void {
  app.decorateRequest('principal', null);
  app.addHook('onRequest', async (request) => {
    const { key, digest } = presentedKeyOf(request);
    if (key === undefined) throw new ServiceError('UNAUTHORIZED');
    const principal = await verifier.verify({ key, digest }, callOf(request));
    request.principal = principal;
    const { scopes = [] } = request.routeOptions.config;
    if (scopes.length > 0 && !scopes.some((scope) => principal.scopes.includes(scope))) {
      throw new ServiceError('INSUFFICIENT_SCOPE', { requiredScopes: scopes });
    }
  });
}

/** The caller of an authenticated route. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal === null) throw new Error('the route is not behind authentication');
  return request.principal;
}

/** Tells the holders of keys apart, before it is known whether the keys are any good; never the key itself. */
export function fingerprintOfKey(request: FastifyRequest): string {
  return presentedKeyOf(request).digest;
}

/** undefined: no key was sent. The digest is its SHA-256. */
type SentKey = { key: string | undefined; digest: string };
const sentKeys = new WeakMap<FastifyRequest, SentKey>();

/** Read and hashed once a request: the guard against overload asks first, then authentication. */
function presentedKeyOf(request: FastifyRequest): SentKey {
  const known = sentKeys.get(request);
  if (known !== undefined) return known;
  const key = keyOf(request);
  const sent = { key, digest: hash('sha256', key ?? '', 'base64') };
  sentKeys.set(request, sent);
  return sent;
}

/** A Bearer token wins and never falls back to the key header, even where it is no key. */
function keyOf({ headers }: FastifyRequest): string | undefined {
  const bearer = /^bearer(?: +(.*))?$/i.exec(headers.authorization ?? '');
  if (bearer !== null) return bearer[1] ?? '';
  const key = headers['x-service-api-key'];
  return typeof key === 'string' ? key : undefined;
}
