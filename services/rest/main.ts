// npm run rest: the REST facade alone.
import { runService } from '../platform/process/run-service.ts';
import { readRestConfig } from './config.ts';
import { startRest } from './service.ts';

await runService({
  name: 'rest',
  does: 'Runs the REST API alone.',
  reads:
    'SCHEDULING_URL and ACCOUNTS_URL default to this machine, REST_PORT to 8080; without REDIS_URL each process limits writes.',
  readConfig: readRestConfig,
  ports: ({ host, port }) => [{ name: 'REST_PORT', host, port }],
  start: startRest,
});
