// What npm run verify says of a user's materials, without a process of its own.
import type { Client } from 'pg';
import { NIL_UUID } from '../../services/platform/uuid.ts';
import { findDrift } from '../../services/scheduling/user-data/replay.ts';
import { readHistories } from '../../services/scheduling/user-data/sql.ts';

/** One sentence for each contradiction, of up to 100 materials. */
export async function driftOf({ sql }: { sql: Client }, userId: string): Promise<string[]> {
  const database = {
    async query<R>({ text, values }: { text: string; values: readonly unknown[] }): Promise<R[]> {
      return (await sql.query(text, [...values])).rows;
    },
  };
  const after = { userId: NIL_UUID, materialId: NIL_UUID };
  const histories = await readHistories(database, userId, { limit: 100, after });
  return histories.flatMap((each) =>
    findDrift(each.material, each.reviews, each.snoozes, each.settings, each.baseline),
  );
}
