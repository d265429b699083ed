// Learners, keys and ids that are the same in every run, so that cached databases stay usable and no key has to be kept.
import { createHash } from 'node:crypto';
import {
  generateKey,
  hashKey,
  type Pepper,
  SCOPES,
  type Scope,
} from '../../../services/accounts/keys/rules.ts';

/** Under which the keys of the benchmark are hashed; guards nothing. */
export const PEPPER: Pepper = { version: '1', secret: 'no-secret-the-benchmark-data-are-made-up' };

/** Before any clock that a benchmark runs on: what is due then is due. */
export const START_MS = Date.UTC(2025, 0, 1);

export type Person = { userId: string; apiKeyId: string; email: string; key: string };

/** A UUID of version 7 that depends on nothing but its arguments. */
export function idOf(label: string, timeMs = START_MS): string {
  const digest = createHash('sha256').update(label).digest('hex');
  const time = timeMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${digest.slice(0, 3)}-a${digest.slice(3, 6)}-${digest.slice(6, 18)}`;
}

export function personOf(label: string): Person {
  return {
    userId: idOf(`user ${label}`),
    apiKeyId: idOf(`key ${label}`),
    email: `${label}@bench.example`,
    key: generateKey(() => createHash('sha256').update(`secret of ${label}`).digest()),
  };
}

export const peopleOf = (label: string, count: number): Person[] =>
  Array.from({ length: count }, (_, index) => personOf(`${label}${index}`));

export function userRow({ userId, email }: Person) {
  const time = new Date(START_MS);
  return [userId, email, email, 'Bench', 'Learner', 'free', 'UTC', time, time];
}

export function keyRow({ userId, apiKeyId, key }: Person, scopes: readonly Scope[] = SCOPES) {
  const hash = `\\x${hashKey(key, PEPPER).toString('hex')}`;
  return [apiKeyId, userId, 'bench', `{${scopes.join(',')}}`, hash, PEPPER.version, new Date(START_MS)];
}
