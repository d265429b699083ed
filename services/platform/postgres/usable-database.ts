// Checks at start that a database has the version, encoding, locale and settings that the services need.
import { CONNECTION_SETTINGS } from './connection-settings.ts';
import type { Queryable } from './database.ts';
import { CREATE_DATABASE } from './reachable.ts';

/**
 * Checks the version, the encoding, case folding beyond ASCII, and the settings of a pooled connection.
 * @throws Error that names the problem and the remedy.
 */
export async function requireUsableDatabase(database: Queryable): Promise<void> {
  const [facts] = await database.query<{ version: number; encoding: string; folds: boolean }>({
    text: `SELECT current_setting('server_version_num')::int AS version,
                  current_setting('server_encoding') AS encoding,
                  lower('É') = 'é' AS folds`,
    values: [],
  });
  if (facts === undefined) throw new Error('the database returned no row');
  if (facts.version < 150_000) {
    throw new Error('PostgreSQL 15 or newer is needed: point DATABASE_URL to a newer server');
  }
  if (facts.encoding !== 'UTF8' || !facts.folds) {
    throw new Error(
      `the database of DATABASE_URL cannot search beyond ASCII (encoding ${facts.encoding}, É ${facts.folds ? 'matches' : 'does not match'} é). ` +
        `Make one that can: ${CREATE_DATABASE}`,
    );
  }
  const fault = await findWrongSettings(database);
  // Without our settings, statements would wait without an end.
  if (fault !== undefined) throw new Error(`connections of DATABASE_URL ${fault.found}. ${fault.remedy}`);
}

/** Settings of a pooled connection that are not ours, as behind a pooler; undefined if there are none. */
export async function findWrongSettings(
  database: Queryable,
): Promise<{ found: string; remedy: string } | undefined> {
  const rows = await database.query<{ name: string; value: string }>({
    text: 'SELECT name, current_setting(name) AS value FROM unnest($1::text[]) AS asked (name)',
    values: [Object.keys(CONNECTION_SETTINGS)],
  });
  const wrong = rows.filter(({ name, value }) => value !== CONNECTION_SETTINGS[name]);
  if (wrong.length === 0) return undefined;
  const found = wrong.map(({ name, value }) => `${name} is ${value}`).join(', ');
  const remedy = wrong.map(({ name }) => `ALTER ROLE user SET ${name} = '${CONNECTION_SETTINGS[name]}';`);
  return {
    found: `do not take our settings (${found}), as behind a pooler`,
    remedy: `Give them to the user of DATABASE_URL, and restart the pooler: ${remedy.join(' ')}`,
  };
}
