// The child process of trainRegularly: runs the nightly round at the lowest priority, then exits.
import { setPriority } from 'node:os';
import { createLogger } from '../platform/logging/logger.ts';
import { openDatabase } from '../platform/postgres/database.ts';
import { trainLearners } from './train-learners.ts';
import { loadTrainer } from './trainer.ts';

setPriority(19);
// The parent process has ended.
process.once('disconnect', () => process.exit());
const database = openDatabase({
  databaseUrl: process.env.DATABASE_URL ?? '',
  applicationName: 'train',
  maxConnections: 1,
  logger: createLogger('train', 'silent'),
});
await trainLearners(database, { trainer: loadTrainer() });
await database.close();
process.exit();
