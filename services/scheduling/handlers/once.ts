// Does a write at most once per request_id: its record is stored in the write's own transaction, so both happen or neither.
import { createHash } from 'node:crypto';
import { invalidField } from '../../platform/errors.ts';
import type { Database, Queryable } from '../../platform/postgres.ts';
import {
  claimRequest,
  findAnsweredRequest,
  type RequestKey,
  storeAnswer,
} from '../repositories/answered-requests-repository.ts';

/** How long a request_id is remembered. */
export const REQUEST_ID_LIFETIME_MS = 24 * 3600 * 1000;

export type Answer<R> = { response: R; materialIds: readonly string[] };

/**
 * Runs `write` in a transaction, or, where it was already done under this key, returns what it answered then. A twin
 * that is running now is waited for. `fields` are the validated fields: a key used for others is refused.
 * What `write` answers is kept as JSON, which the messages of this service survive unchanged.
 * The answer then says so in `replayed`. @throws INVALID_REQUEST, field request_id, where the key was used for another write.
 */
export async function once<R extends object>(
  { database, now }: { database: Database; now: () => Date },
  key: RequestKey,
  fields: readonly unknown[],
  write: (transaction: Queryable) => Promise<Answer<R>>,
): Promise<R & { replayed?: boolean }> {
  const fingerprint = createHash('sha256').update(JSON.stringify(fields)).digest();
  return database.transaction(async (transaction) => {
    const time = now();
    const oldestLive = new Date(time.getTime() - REQUEST_ID_LIFETIME_MS);
    if (await claimRequest(transaction, key, { fingerprint, now: time, oldestLive })) {
      const answer = await write(transaction);
      await storeAnswer(transaction, key, answer);
      return answer.response;
    }
    const known = await findAnsweredRequest(transaction, key);
    if (known === undefined) throw new Error('a record of a request vanished while it was replayed');
    if (!known.fingerprint.equals(fingerprint)) {
      throw invalidField('request_id', 'request_id was used for another write within the last 24 hours.');
    }
    // What was stored under this rpc's name is what this rpc answered.
    return { ...(known.response as R), replayed: true };
  });
}
