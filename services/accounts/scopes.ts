// The six scopes in display order.
import { ServiceError } from '../platform/errors.ts';

export const SCOPES = [
  'materials:read',
  'materials:write',
  'reviews:read',
  'reviews:write',
  'snooze:write',
  'profile:read',
] as const;
export type Scope = (typeof SCOPES)[number];

const DEFAULT_SCOPES: readonly Scope[] = ['materials:read', 'reviews:read', 'profile:read'];

/** Scopes for a new key without duplicates; default: the read-oriented ones. @throws INVALID_SCOPE for an unknown scope. */
export function scopesForNewKey(named: readonly string[]): readonly Scope[] {
  return named.length === 0 ? DEFAULT_SCOPES : knownScopes(named);
}

/** Scopes for a replacement key; default: the same. @throws INVALID_SCOPE for a scope that is unknown or not in the old key. */
export function scopesForRotation(named: readonly string[], held: readonly Scope[]): readonly Scope[] {
  if (named.length === 0) return held;
  const wanted = knownScopes(named);
  const wider = wanted.find((scope) => !held.includes(scope));
  if (wider === undefined) return wanted;
  throw new ServiceError('INVALID_SCOPE', {
    message: `A replacement can only have scopes of the old key, which lacks ${wider}.`,
  });
}

function knownScopes(named: readonly string[]): readonly Scope[] {
  const unknown = named.find((name) => !SCOPES.some((scope) => scope === name));
  if (unknown === undefined) return SCOPES.filter((scope) => named.includes(scope));
  throw new ServiceError('INVALID_SCOPE', {
    message: `${JSON.stringify(unknown.slice(0, 64))} is not a scope. Scopes: ${SCOPES.join(', ')}.`,
  });
}
