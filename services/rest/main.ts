// npm run rest: the REST facade alone.
import { runService } from '../platform/process/run-service.ts';
import { readRestConfig } from './config.ts';
import { startRest } from './service.ts';

await runService('rest', readRestConfig, startRest);
