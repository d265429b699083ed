// npm run scheduling: the scheduling service alone.
import { runService } from '../platform/process/run-service.ts';
import { readSchedulingConfig } from './config.ts';
import { startScheduling } from './service.ts';

await runService('scheduling', readSchedulingConfig, (parts) =>
  startScheduling({ ...parts, now: () => new Date() }),
);
