// npm run scheduling: the scheduling service alone.
import { runService } from '../platform/process/run-service.ts';
import { readSchedulingConfig } from './config.ts';
import { startScheduling } from './service.ts';

await runService({
  name: 'scheduling',
  does: 'Runs the scheduling service alone: materials, reviews, snoozes and statistics, over gRPC.',
  reads: 'DATABASE_URL is required; SCHEDULING_PORT defaults to 50051.',
  readConfig: readSchedulingConfig,
  ports: ({ host, port }) => [{ name: 'SCHEDULING_PORT', host, port }],
  start: startScheduling,
});
