// Idempotency: executes a write at most once per request_id, with its record stored in the same transaction.
import { hash } from 'node:crypto';
import { invalidField } from '../../platform/errors.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import {
  claimIdempotencyKey,
  findIdempotencyRecord,
  type IdempotencyKey,
  storeResponse,
} from './idempotency-repository.ts';

const LIFETIME_HOURS = 24;
/** How long an idempotency record is valid. Told to callers at the Idempotency-Key of OpenAPI and the request_id of the protos. */
export const REQUEST_ID_LIFETIME_MS = LIFETIME_HOURS * 3600 * 1000;

/** The validated fields of a write by name. Absent fields and defaults are undefined, so that new fields do not change old fingerprints. */
type NamedFields = Readonly<Record<string, unknown>>;

export type Answer<R> = { response: R; materialIds: readonly string[] };

/**
 * Runs `write` in a transaction; if the key has a record, returns the stored response with `replayed` instead. Waits for a
 * concurrent write with the same key. `positional` has the fields in the order of version 1.0, for records up to a day old.
 * Responses are stored as JSON, which preserves this service's messages.
 * @throws INVALID_REQUEST, field request_id, if the key was used with other `fields`.
 */
export async function executeIdempotently<R extends object>(
  { database, now }: { database: Database; now: () => Date },
  key: IdempotencyKey,
  fields: NamedFields,
  write: (transaction: Queryable) => Promise<Answer<R>>,
  positional: readonly unknown[] = Object.values(fields),
): Promise<R & { replayed?: boolean }> {
  const fingerprint = digest(canonical(fields));
  return database.transaction(async (transaction) => {
    const time = now();
    const oldestLive = new Date(time.getTime() - REQUEST_ID_LIFETIME_MS);
    if (await claimIdempotencyKey(transaction, key, { fingerprint, now: time, oldestLive })) {
      const answer = await write(transaction);
      await storeResponse(transaction, key, answer);
      return answer.response;
    }
    const known = await findIdempotencyRecord(transaction, key);
    if (known === undefined) throw new Error('the idempotency record disappeared during a replay');
    const isSame = [fingerprint, digest(positional)].some((each) => known.fingerprint.equals(each));
    if (!isSame) {
      throw invalidField('request_id', `was used for another write within the last ${LIFETIME_HOURS} hours.`);
    }
    // The key contains the rpc, so the stored response has type R.
    return { ...(known.response as R), replayed: true };
  });
}

/** Sorts fields by name; JSON omits undefined ones. */
function canonical(fields: NamedFields): object {
  return Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function digest(fields: object): Buffer {
  return hash('sha256', JSON.stringify(fields), 'buffer');
}
