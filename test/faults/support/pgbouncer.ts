// A real PgBouncer in transaction mode before a database: sessions of the server are swapped under its clients.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../services/platform/process/free-port.ts';
import { startProcess } from '../../support/processes.ts';

/** Whether there is one on this machine. */
export function hasPgBouncer(): boolean {
  try {
    execFileSync('pgbouncer', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Resolves once it listens; `databaseUrl` of the result leads through it. */
export async function startPgBouncer(databaseUrl: string) {
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
    'pool_mode = transaction',
    'ignore_startup_parameters = options,statement_timeout,lock_timeout,idle_in_transaction_session_timeout',
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
