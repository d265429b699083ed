// Counts all learners at once, as the scheduling service does every four minutes.
import { createLogger } from '../../services/platform/logging/logger.ts';
import { openDatabase } from '../../services/platform/postgres/database.ts';
import { countLearners } from '../../services/scheduling/count-learners.ts';

export async function countLearnersNow(databaseUrl: string): Promise<void> {
  const database = openDatabase({
    ...{ databaseUrl, applicationName: 'test', maxConnections: 1 },
    logger: createLogger('test', 'silent'),
  });
  // The service may be counting at this moment.
  while (!(await countLearners(database, new Date(), 0)));
  await database.close();
}
