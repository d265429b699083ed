// Checks KEY_PEPPER against what the database's keys were hashed under.
import { type Pepper, pepperCheckValue } from '../accounts/api-key.ts';
import type { Queryable } from '../platform/postgres.ts';
import { checkNamed, type Finding } from './finding.ts';

/** `peppers` undefined: this environment has none, as that of a program other than accounts. */
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
        `not in KEY_PEPPER, and ${keys} living keys are hashed under it: they are refused`,
        `add ${version}:SECRET behind the newest in KEY_PEPPER, with the secret of then`,
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
      'nothing to do if it is meant: accounts takes it up at its next start',
    );
  }
  if (known.value.equals(pepperCheckValue(pepper))) return ok('is the secret used before');
  return bad(
    'is not the secret that this database knows under that version: accounts will not start',
    'restore the secret of then in KEY_PEPPER, or put a new one in front of it under a new version',
  );
}
