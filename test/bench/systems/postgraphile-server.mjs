// PostGraphile over the benchmark's database, as its own documentation sets it up. Runs from a copy in .bench/peers, where
// it is installed.
import { createServer } from 'node:http';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';

const { DATABASE_URL: connectionString, PORT } = process.env;
const preset = {
  extends: [PostGraphileAmberPreset],
  // Else it offers no order by what only the second column of an index holds.
  disablePlugins: ['PgIndexBehaviorsPlugin'],
  pgServices: [makePgService({ connectionString, schemas: ['accounts', 'scheduling'] })],
  grafserv: { watch: false, graphiql: false },
  grafast: { explain: false },
};
const serving = postgraphile(preset).createServ(grafserv);
const server = createServer();
await serving.addTo(server);
server.listen(Number(PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
