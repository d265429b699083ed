// Databases of the benchmark: made once, kept while the schema and the code that fills them stay the same.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Client } from 'pg';
import { accountsSchema } from '../../../services/accounts/service.ts';
import { createLogger } from '../../../services/platform/logging/logger.ts';
import { migrate } from '../../../services/platform/postgres/migrate.ts';
import { schedulingSchema } from '../../../services/scheduling/service.ts';
import { ROOT } from '../root.ts';

export type Databases = ReturnType<typeof createDatabases>;
type Build = (client: Client) => Promise<void>;

/** `serverUrl`: of an account that may make databases; `say` is told what takes long; `folder`: the checkout whose migrations they have. */
export function createDatabases(serverUrl: string, say: (text: string) => void, folder = ROOT) {
  const version = dataVersion(folder);
  const urlOf = (name: string) => {
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    return url.href;
  };
  const execute = (sql: string) => withClient(serverUrl, (client) => client.query(sql));
  const exists = async (name: string) =>
    withClient(serverUrl, async (client) => {
      const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
      return rowCount === 1;
    });
  const drop = (name: string) => execute(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  const build = async (name: string, fill: Build) => {
    const partial = `${name}_partial`;
    await drop(partial);
    await execute(`CREATE DATABASE ${partial}`);
    const databaseUrl = urlOf(partial);
    const logger = createLogger('bench', 'warn');
    for (const schema of [accountsSchema, schedulingSchema])
      await migrate({
        databaseUrl,
        ...schema,
        directory: join(folder, relative(ROOT, schema.directory)),
        logger,
      });
    await withClient(databaseUrl, async (client) => {
      await client.query("SET maintenance_work_mem = '256MB'");
      await withoutTrigramIndexes(client, () => fill(client));
      await client.query('VACUUM ANALYZE');
    });
    await execute(`ALTER DATABASE ${partial} RENAME TO ${name}`);
  };
  return {
    version,
    urlOf,
    /** The name of the database that `fill` fills, from an earlier run if there is one; it is not to be changed. */
    async cached(label: string, fill: Build): Promise<string> {
      const name = `bench_${label}_${version}`;
      if (!(await exists(name))) {
        say(`making the data of "${label}" (kept for the next run)`);
        await build(name, fill);
      }
      return name;
    },
    /** A copy to write into; of this run only. */
    async copyOf(name: string, label: string): Promise<string> {
      const copy = `bench_run_${label}`;
      await drop(copy);
      await execute(`CREATE DATABASE ${copy} TEMPLATE ${name} STRATEGY FILE_COPY`);
      return copy;
    },
    drop,
  };
}

/** Removes what other versions than those of `used`, or a run that was killed, have left. */
export async function sweep(serverUrl: string, used: readonly Databases[]): Promise<void> {
  await withClient(serverUrl, async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      "SELECT datname FROM pg_database WHERE datname LIKE 'bench\\_%'",
    );
    for (const { datname } of rows)
      if (!used.some(({ version }) => datname.endsWith(`_${version}`)))
        await client.query(`DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`);
  });
}

export async function withClient<T>(databaseUrl: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: databaseUrl, application_name: 'bench' });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** A GIN index is made many times faster over rows that are there than row by row. */
async function withoutTrigramIndexes(client: Client, work: () => Promise<void>): Promise<void> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
     WHERE a.amname = 'gin' AND c.relnamespace = 'scheduling'::regnamespace`,
  );
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`);
  await work();
  for (const { name, definition } of rows) {
    await client.query(definition);
    // As the migrations have it, which a definition does not say.
    await client.query(
      `ALTER INDEX ${name} ALTER COLUMN 1 SET STATISTICS 0, ALTER COLUMN 2 SET STATISTICS 0`,
    );
  }
}

/** Changes with every migration of the checkout in `folder` and with the code in this folder. */
function dataVersion(folder: string): string {
  const hash = createHash('sha256');
  const update = (root: string, glob: string) => {
    for (const file of globSync(glob, { cwd: root }).toSorted())
      hash.update(file).update(readFileSync(join(root, file)));
  };
  update(folder, 'services/*/migrations/*.sql');
  update(ROOT, 'test/bench/dataset/*.ts');
  return hash.digest('hex').slice(0, 10);
}
