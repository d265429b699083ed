// Compares configured peppers with stored check values, so that a wrong secret is detected at start.
import type { Queryable } from '../../platform/postgres/database.ts';
import { type Pepper, pepperCheckValue } from '../api-key.ts';

/** Stores the check values of new versions. @throws Error that names the version with a changed secret. */
export async function requireKnownPeppers(db: Queryable, peppers: readonly Pepper[]): Promise<void> {
  for (const pepper of peppers) {
    const checkValue = pepperCheckValue(pepper);
    await db.query({
      text: 'INSERT INTO accounts.pepper_checks (pepper_version, check_value) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      values: [pepper.version, checkValue],
    });
    const [stored] = await db.query<{ check_value: Buffer }>({
      text: 'SELECT check_value FROM accounts.pepper_checks WHERE pepper_version = $1',
      values: [pepper.version],
    });
    if (stored?.check_value.equals(checkValue) !== true) {
      throw new Error(
        `KEY_PEPPER version ${pepper.version} is not the secret that this database's keys were hashed with: ` +
          'restore that secret, or add a new one in front under a new version',
      );
    }
  }
}
