// npm start: the command line. It says that it is loading before it loads the services.
import { runCommand } from '../../platform/process/command.ts';
import { createNarrator } from '../../platform/process/terminal.ts';

const HELP = `Starts the whole system on this machine: PostgreSQL, the services, the REST API and the GraphQL gateway.

  npm start

Prints the addresses, on the first run also an API key, and runs until Ctrl-C or SIGTERM. Data is kept in DATA_DIR (default
.data). On a terminal, log lines go to DATA_DIR/log; with LOG_LEVEL they are shown.
Ports: REST_PORT (default 8080), GRAPHQL_PORT (4000), SCHEDULING_PORT (50051), ACCOUNTS_PORT (50052), REMINDERS_PORT (50053),
REMINDERS_HTTP_PORT (8090). docs/configuration.md lists every variable.
`;

await runCommand({ name: 'npm start', help: HELP, ignoresOutputErrors: true }, async () => {
  const narrator = createNarrator(process.stdout);
  narrator.say('loading');
  const { runSystem } = await import('./system.ts');
  await runSystem(narrator);
});
