// Checks KEY_PEPPER against the peppers of the stored keys.
import { type Pepper, pepperCheckValue } from '../../accounts/keys/rules.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { checkNamed, type Finding } from './finding.ts';

/** `peppers` is undefined in the environment of programs other than accounts. */
export async function checkPeppers(
  db: Queryable,
  peppers: readonly Pepper[] | undefined,
): Promise<Finding[]> {
  const { warning } = checkNamed('pepper');
  const [table] = await db.query<{ exists: boolean }>({
    text: "SELECT to_regclass('accounts.pepper_checks') IS NOT NULL AS exists",
    values: [],
  });
  if (table?.exists !== true) return [];
  if (peppers === undefined) {
    return [warning('KEY_PEPPER is not set here', 'run this with the environment of the accounts service')];
  }
  const stored = await db.query<{ version: string; value: Buffer; keys: number }>({
    text: `SELECT c.pepper_version AS version, c.check_value AS value,
             (SELECT count(*) FROM accounts.api_keys k
              WHERE k.pepper_version = c.pepper_version AND k.revoke_time IS NULL)::int AS keys
           FROM accounts.pepper_checks c ORDER BY 1`,
    values: [],
  });
  const given = new Set(peppers.map(({ version }) => version));
  const lost = stored.filter(({ version, keys }) => keys > 0 && !given.has(version));
  return [
    ...peppers.map((pepper) => checkOne(pepper, stored)),
    ...lost.map(({ version, keys }) =>
      checkNamed(`pepper ${version}`).bad(
        `missing in KEY_PEPPER, but ${keys} valid keys are hashed with it and are refused`,
        `add ${version}:SECRET to the end of KEY_PEPPER, with the original secret`,
      ),
    ),
  ];
}

function checkOne(pepper: Pepper, stored: readonly { version: string; value: Buffer }[]): Finding {
  const { ok, warning, bad } = checkNamed(`pepper ${pepper.version}`);
  const known = stored.find(({ version }) => version === pepper.version);
  if (known === undefined) {
    return warning(
      'new to this database',
      'nothing to do if this is intended: accounts stores it at its next start',
    );
  }
  if (known.value.equals(pepperCheckValue(pepper))) return ok('matches the secret in the database');
  return bad(
    'does not match the secret that this database has for that version: accounts will not start',
    'restore the original secret in KEY_PEPPER, or put a new secret with a new version in front of it',
  );
}
