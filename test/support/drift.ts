// What npm run verify says of a user's materials, without a process of its own.

import { NIL_UUID } from '../../services/platform/uuid.ts';
import { findDrift } from '../../services/scheduling/user-data/replay.ts';
import { readHistories } from '../../services/scheduling/user-data/sql.ts';
import { openForCounts } from './count-learners.ts';

/** One sentence for each contradiction, of up to 100 materials. */
export async function driftOf(databaseUrl: string, userId: string): Promise<string[]> {
  const database = await openForCounts(databaseUrl);
  try {
    const after = { userId: NIL_UUID, materialId: NIL_UUID };
    const histories = await readHistories(database, userId, { limit: 100, after });
    return histories.flatMap((each) =>
      findDrift(each.material, each.reviews, each.snoozes, each.settings, each.baseline),
    );
  } finally {
    await database.close();
  }
}
