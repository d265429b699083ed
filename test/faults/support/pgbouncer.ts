// A real PgBouncer before a database; in transaction mode, sessions of the server are swapped under its clients.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { CONNECTION_SETTINGS } from '../../../services/platform/postgres/connection.ts';
import { freePort } from '../../../services/platform/process/ports.ts';
import { startProcess } from '../../support/processes.ts';
import { newSecret } from '../../support/services.ts';

/** Whether there is one on this machine. */
export function hasPgBouncer(): boolean {
  try {
    execFileSync('pgbouncer', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/**
 * Gives a role of its own, which owns the database, the settings that a pooler drops: as docs/operations/database.md says.
 * `databaseUrl` of the result is the same database for that role; `drop` is for after the database.
 */
export async function createPooledRole(databaseUrl: string) {
  const role = `pooled_${newSecret().slice(0, 12)}`;
  const password = newSecret();
  const url = new URL(databaseUrl);
  const run = async (server: string, statements: readonly string[]) => {
    const client = new Client({ connectionString: server });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };
  await run(databaseUrl, [
    `CREATE ROLE ${role} LOGIN PASSWORD '${password}'`,
    `ALTER DATABASE ${url.pathname.slice(1)} OWNER TO ${role}`,
  ]);
  const server = new URL(databaseUrl);
  server.pathname = '/postgres';
  url.username = role;
  url.password = password;
  const settings = Object.entries(CONNECTION_SETTINGS);
  return {
    databaseUrl: url.href,
    takeSettings: () =>
      run(
        databaseUrl,
        settings.map(([name, value]) => `ALTER ROLE ${role} SET ${name} = '${value}'`),
      ),
    drop: () => run(server.href, [`DROP ROLE ${role}`]),
  };
}

/** Resolves once it listens; `databaseUrl` of the result leads through it. */
export async function startPgBouncer(databaseUrl: string, mode: 'session' | 'transaction' = 'transaction') {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const folder = mkdtempSync(join(tmpdir(), 'srs-pgbouncer-'));
  // It refuses to run as root, and as nobody it has to read this.
  chmodSync(folder, 0o755);
  const file = join(folder, 'pgbouncer.ini');
  const ownPort = await freePort();
  const target = `host=${hostname} port=${port} user=${username} password=${password}`;
  const settings = [
    '[databases]',
    `${pathname.slice(1)} = ${target}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${ownPort}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    'default_pool_size = 40',
    'ignore_startup_parameters = options',
  ];
  writeFileSync(file, `${settings.join('\n')}\n`);
  const isRoot = process.getuid?.() === 0;
  const bouncer = startProcess('pgbouncer', [...(isRoot ? ['-u', 'nobody'] : []), file]);
  await bouncer.says((output) => output.includes('process up') || undefined);
  const through = new URL(databaseUrl);
  through.port = `${ownPort}`;
  return {
    databaseUrl: through.href,
    async stop() {
      await bouncer.end('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
