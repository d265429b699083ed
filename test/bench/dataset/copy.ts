// Rows into PostgreSQL by COPY, from a generator, so that millions never lie in memory at once.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Scope } from '../../../services/accounts/keys/rules.ts';
import { keyRow, type Person, userRow } from './people.ts';

export type Cell = string | number | Date | null;

export const TABLES = {
  users:
    'accounts.users (user_id, email, folded_email, first_name, last_name, plan, time_zone, create_time, update_time)',
  apiKeys: 'accounts.api_keys (api_key_id, user_id, name, scopes, key_hash, pepper_version, create_time)',
  materials: `scheduling.materials (user_id, material_id, title, content, source_url, type, ease_factor_hundredths,
    interval_days, repetitions, next_review_time, last_reviewed_time, revision, create_time, update_time)`,
  search: 'scheduling.material_search (user_id, material_id, create_time, title, content, source_url)',
  reviews: `scheduling.reviews (user_id, material_id, revision, review_id, quality, review_time,
    before_ease_factor_hundredths, before_interval_days, before_repetitions, before_next_review_time,
    after_ease_factor_hundredths, after_interval_days, after_repetitions, after_next_review_time)`,
} as const;

const ROWS_IN_A_CHUNK = 500;

export async function copyRows(
  client: Client,
  table: string,
  rows: Iterable<readonly Cell[]>,
): Promise<void> {
  await pipeline(Readable.from(chunks(rows)), client.query(copyFrom(`COPY ${table} FROM STDIN`)));
}

/** Each with a key of all scopes, or of those named. */
export async function copyPeople(
  client: Client,
  people: readonly Person[],
  scopes?: readonly Scope[],
): Promise<void> {
  await copyRows(client, TABLES.users, people.map(userRow));
  await copyRows(
    client,
    TABLES.apiKeys,
    people.map((person) => keyRow(person, scopes)),
  );
}

function* chunks(rows: Iterable<readonly Cell[]>): Generator<string> {
  let lines: string[] = [];
  for (const row of rows) {
    lines.push(`${row.map(toText).join('\t')}\n`);
    if (lines.length < ROWS_IN_A_CHUNK) continue;
    yield lines.join('');
    lines = [];
  }
  yield lines.join('');
}

/** COPY's text format. */
function toText(cell: Cell): string {
  if (cell === null) return '\\N';
  if (cell instanceof Date) return cell.toISOString();
  return String(cell).replace(
    /[\\\t\n\r]/g,
    (character) => `\\${{ '\t': 't', '\n': 'n', '\r': 'r' }[character] ?? character}`,
  );
}
