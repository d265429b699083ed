// Promise: a backup taken as docs/operations/backup.md says, under load, restores to a service without drift.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Certificates, makeCertificates } from '../support/certificates.ts';
import { root } from '../support/processes.ts';
import { newSecret, startService } from '../support/services.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { createClient, startLoad } from './support/load.ts';
import { turnTlsOn } from './support/postgres-tls.ts';
import { verify } from './support/verify.ts';

beforeAll(startAll);
afterAll(stopAll);

describe('a backup taken while 20 clients write', () => {
  test('restores to a service that has all that was acknowledged before it, without drift', async () => {
    const { key, userId } = await here.createKey();
    const ids = await here.createMaterials(key, 10);
    let turn = 0;
    const load = startLoad({
      origins: here.origins,
      workers: 20,
      pauseMs: 5,
      next: () => {
        turn += 1;
        const id = ids[turn % ids.length];
        return turn % 4 === 0
          ? { method: 'POST', path: `/materials/${id}/snooze`, key, json: { preset: '1h' } }
          : { method: 'POST', path: `/reviews/${id}`, key, json: { quality: turn % 6 } };
      },
    });
    // As the role of the services has them.
    await sql('live', 'CREATE ROLE of_services; GRANT USAGE ON SCHEMA scheduling TO of_services');
    await sleep(1500);
    const before = await countReviews('live');
    const file = join(folder, 'backup.dump');
    await run('pg_dump', ['--format=custom', `--file=${file}`, `${serverUrl}/live`]);
    await sleep(300);
    expect(await load.stop()).toEqual([]);
    const after = await countReviews('live');

    // A new server has no such role.
    await sql('live', 'DROP OWNED BY of_services; DROP ROLE of_services');
    await sql('postgres', 'CREATE DATABASE restored');
    const options = ['--exit-on-error', '--no-owner', '--no-privileges'];
    await run('pg_restore', [...options, `--dbname=${serverUrl}/restored`, file]);
    const restored = await countReviews('restored');
    expect(restored).toBeGreaterThanOrEqual(before);
    expect(restored).toBeLessThan(after);
    expect(await verify(`${serverUrl}/restored`)).toMatch(
      new RegExp(`^10 materials, ${restored.toLocaleString('en')} reviews, .*: 0 drifted\n$`),
    );
    await expectServed(key, userId);
  });

  test('is made by deploy/backup, which restores it, keeps the newest and files of other names, for its account alone, and shows no password', async () => {
    const urlFile = join(folder, 'url');
    writeFileSync(urlFile, `${serverUrl}/live\n`);
    const env = {
      PATH: process.env.PATH,
      DATABASE_URL_FILE: urlFile,
      BACKUP_DIR: join(folder, 'kept'),
      BACKUP_KEEP: '2',
    };
    const kept = ['20260101T000000Z.dump', '20260102T000000Z.dump'];
    const notOurs = ['1.dump', 'before-upgrade.dump', 'other.partial'];
    mkdirSync(env.BACKUP_DIR);
    for (const name of [...kept, ...notOurs, '20260102T000000Z.partial'])
      writeFileSync(join(env.BACKUP_DIR, name), '');
    const { stdout, stderr } = await run('deploy/backup', { cwd: root, env });
    expect(stdout).toMatch(/\.dump: \d+ bytes, restored without an error\n$/);
    expect(stdout + stderr).not.toContain(new URL(serverUrl).password);
    const made = /(\w+\.dump)/.exec(stdout)?.[1] ?? '';
    expect(readdirSync(env.BACKUP_DIR).toSorted()).toEqual([...notOurs, kept[1], made].toSorted());
    expect(statSync(join(env.BACKUP_DIR, made)).mode & 0o777).toBe(0o600);
    expect(await restoreTests()).toHaveLength(0);
  });

  test('replaces an older one also where BACKUP_DIR is a link to a folder on another disk', async () => {
    const disk = join(folder, 'disk');
    mkdirSync(disk);
    writeFileSync(join(disk, '20260101T000000Z.dump'), '');
    const env = {
      PATH: process.env.PATH,
      DATABASE_URL: `${serverUrl}/live`,
      BACKUP_DIR: join(folder, 'link'),
      BACKUP_KEEP: '1',
    };
    symlinkSync(disk, env.BACKUP_DIR);
    const { stdout } = await run('deploy/backup', { cwd: root, env });
    expect(readdirSync(disk)).toEqual([/(\w+\.dump)/.exec(stdout)?.[1]]);
  });

  test('leaves no database behind for good if it is killed during the restore', async () => {
    const env = { DATABASE_URL: `${serverUrl}/live`, BACKUP_DIR: join(folder, 'killed') };
    const hanging = join(folder, 'hanging');
    mkdirSync(hanging);
    writeFileSync(join(hanging, 'pg_restore'), '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    const PATH = process.env.PATH ?? '';
    const killed = spawn('deploy/backup', {
      cwd: root,
      detached: true,
      stdio: 'ignore',
      env: { ...env, PATH: `${hanging}:${PATH}` },
    });
    await expect.poll(async () => (await restoreTests()).length).toBe(1);
    process.kill(-(killed.pid ?? 0), 'SIGKILL');
    await run('deploy/backup', { cwd: root, env: { ...env, PATH } });
    expect(await restoreTests()).toHaveLength(0);
  });

  test('leaves no part of a dump on a disk that it has filled', async () => {
    const env = {
      PATH: process.env.PATH,
      DATABASE_URL: `${serverUrl}/live`,
      BACKUP_DIR: join(folder, 'full'),
    };
    const command = 'trap "" XFSZ; ulimit -f 1; exec deploy/backup';
    await expect(run('bash', ['-c', command], { cwd: root, env })).rejects.toMatchObject({ code: 1 });
    expect(readdirSync(env.BACKUP_DIR)).toEqual([]);
  });

  test('is refused by deploy/backup where the database is not one of ours', async () => {
    const env = {
      PATH: process.env.PATH,
      DATABASE_URL: `${serverUrl}/postgres`,
      BACKUP_DIR: join(folder, 'refused'),
    };
    await expect(run('deploy/backup', { cwd: root, env })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('lacks the schemas of the service'),
    });
    expect(readdirSync(env.BACKUP_DIR).filter((name) => name.endsWith('.dump'))).toEqual([]);
  });

  test.each(['0', '-1', 'all'])('is refused by deploy/backup where it is to keep %s', async (keep) => {
    const env = {
      PATH: process.env.PATH,
      DATABASE_URL: `${serverUrl}/live`,
      BACKUP_DIR: join(folder, 'kept'),
      BACKUP_KEEP: keep,
    };
    const before = readdirSync(env.BACKUP_DIR);
    await expect(run('deploy/backup', { cwd: root, env })).rejects.toMatchObject({
      code: 1,
      stderr: 'BACKUP_KEEP must be a whole number from 1\n',
    });
    expect(readdirSync(env.BACKUP_DIR)).toEqual(before);
  });

  test('is made by deploy/backup where the other databases of the server have another encoding', async () => {
    await here.createKey();
    await sql('live', "UPDATE accounts.users SET first_name = 'Ada'");
    const setTemplate = (encoding: string, locale: string) =>
      sql(
        'postgres',
        `UPDATE pg_database SET encoding = pg_char_to_encoding('${encoding}'), datcollate = '${locale}', datctype = '${locale}'
         WHERE datname = 'template0'`,
      );
    const env = {
      PATH: process.env.PATH,
      DATABASE_URL: `${serverUrl}/live`,
      BACKUP_DIR: join(folder, 'other-encoding'),
    };
    await setTemplate('SQL_ASCII', 'C');
    const { stdout } = await run('deploy/backup', { cwd: root, env }).finally(() =>
      setTemplate('UTF8', 'C.UTF-8'),
    );
    expect(stdout).toContain('restored without an error');
  });

  test('is tried again a minute later by deploy/backup while PostgreSQL is away, less and less often, and says so', async () => {
    const { hostname, port, username, password } = new URL(serverUrl);
    const proxy = await startTcpProxy(Number(port));
    await proxy.shut();
    const bin = join(folder, 'impatient');
    mkdirSync(bin);
    // Notes how long it should sleep, and waits for the file of that turn instead.
    writeFileSync(
      join(bin, 'sleep'),
      '#!/bin/sh\necho "$1" >> "$0.asked"\nuntil [ -e "$0.$(wc -l < "$0.asked")" ]; do /bin/sleep 0.02; done\n',
      { mode: 0o755 },
    );
    const asked = () =>
      existsSync(join(bin, 'sleep.asked')) ? readFileSync(join(bin, 'sleep.asked'), 'utf8') : '';
    const wake = (turn: number) => writeFileSync(join(bin, `sleep.${turn}`), '');
    const waiting = spawn('deploy/backup', {
      cwd: root,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: `${bin}:${process.env.PATH}`,
        DATABASE_URL: `postgres://${username}:${password}@${hostname}:${proxy.port}/live`,
        BACKUP_DIR: join(folder, 'waiting'),
        BACKUP_EVERY_SECONDS: '86400',
      },
    });
    let said = '';
    waiting.stderr?.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    const pauses = ['60', '120', '240', '480', '960', '1920', '3600', '3600'];
    try {
      for (const [index, pause] of pauses.entries()) {
        await expect.poll(asked).toBe(
          pauses
            .slice(0, index + 1)
            .map((text) => `${text}\n`)
            .join(''),
        );
        await expect.poll(() => said).toContain(`The backup failed; the next try follows in ${pause} s.\n`);
        if (index === pauses.length - 1) await proxy.open(Number(port));
        wake(index + 1);
      }
      await expect.poll(asked).toMatch(/\n86400\n$/);
      expect(readdirSync(join(folder, 'waiting')).filter((name) => name.endsWith('.dump'))).toHaveLength(1);
      await proxy.shut();
      wake(pauses.length + 1);
      await expect.poll(asked).toMatch(/\n86400\n60\n$/);
    } finally {
      process.kill(-(waiting.pid ?? 0), 'SIGKILL');
      await proxy.stop();
    }
  });

  test('is made by deploy/backup with the encryption that DATABASE_URL asks for, or not at all', async () => {
    const env = { PATH: process.env.PATH, BACKUP_DIR: join(folder, 'encrypted') };
    /** What it says, on both outputs. */
    const backUp = async (parameters: string) => {
      const DATABASE_URL = `${serverUrl}/live?${parameters}`;
      return run('deploy/backup', { cwd: root, env: { ...env, DATABASE_URL } }).then(
        ({ stdout }) => stdout,
        ({ stderr }) => `refused: ${stderr}`,
      );
    };
    const unencrypted = /^refused: .*server does not support SSL/;
    expect(await backUp('sslmode=require')).toMatch(unencrypted);
    expect(await backUp('application_name=a&sslmode=no-verify')).toMatch(unencrypted);
    expect(await backUp('ssl=true')).toBe(
      'refused: DATABASE_URL has ssl, which pg_dump does not know: use sslmode\n',
    );

    const [trusted, other] = [makeCertificates(), makeCertificates()];
    const verified = ({ environment }: Certificates) =>
      `sslmode=verify-full&sslrootcert=${encodeURIComponent(environment.GRPC_TLS_CA)}`;
    const server = new Client({ connectionString: `${serverUrl}/postgres` });
    await server.connect();
    await turnTlsOn(server, trusted).finally(() => server.end());
    await expect.poll(() => backUp(verified(trusted))).toContain('restored without an error');
    expect(await backUp(verified(other))).toMatch(/^refused: .*certificate verify failed/);
    for (const { remove } of [trusted, other]) remove();
  });

  /** The restored database under the same pepper: the same keys, and writes go on. */
  async function expectServed(key: string, userId: string) {
    const environment = { DATABASE_URL: `${serverUrl}/restored`, KEY_PEPPER };
    const [accounts, scheduling] = await Promise.all([
      startService('accounts', environment),
      startService('scheduling', environment),
    ]);
    const rest = await startService('rest', {
      ACCOUNTS_URL: accounts.target,
      SCHEDULING_URL: scheduling.target,
    });
    const client = createClient([rest.origin]);
    const me = await client.send({ method: 'GET', path: '/me', key });
    expect(JSON.parse(me.text).id).toBe(userId);
    const made = await client.send({ method: 'POST', path: '/materials', key, json: { title: 'After' } });
    expect(made.status).toBe(201);
    client.close();
    for (const service of [rest, scheduling, accounts]) await service.kill();
  }
});

const KEY_PEPPER = `1:${newSecret()}`;
const run = promisify(execFile);

let cluster: ChildProcess;
let serverUrl: string;
let here: Deployment;
let folder: string;

async function startAll(): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), 'srs-backup-'));
  // Debian's PostgreSQL, which has pg_dump beside it, in a cluster that exists as long as our end of the pipe is open.
  cluster = spawn(
    'pg_virtualenv',
    [
      // In a folder of its own also for root, so that two checkouts can run this at once.
      '-t',
      '-c',
      '--locale=C.UTF-8',
      '-o',
      'ssl=off',
      'sh',
      '-c',
      'echo "at $PGUSER:$PGPASSWORD@$PGHOST:$PGPORT;"; cat',
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  serverUrl = `postgres://${await saidBy(cluster, /at (.+);/)}`;
  await sql('postgres', 'CREATE DATABASE live');
  here = await startDeployment({
    replicas: { accounts: 1, scheduling: 1, rest: 1 },
    databaseUrl: `${serverUrl}/live`,
    environment: { KEY_PEPPER },
  });
}

async function stopAll(): Promise<void> {
  await here?.stop();
  if (cluster.exitCode === null) {
    const ended = once(cluster, 'exit');
    cluster.stdin?.end();
    await ended;
  }
  rmSync(folder, { recursive: true });
}

/** The first group of `pattern` in what it prints; nothing of it is passed on, since there is a password in it. */
function saidBy(child: ChildProcess, pattern: RegExp): Promise<string> {
  let said = '';
  return new Promise((resolve, reject) => {
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      said += text;
      const found = pattern.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', () => reject(new Error('pg_virtualenv ended instead of starting a cluster')));
  });
}

async function sql(database: string, text: string): Promise<{ count: number }[]> {
  const client = new Client({ connectionString: `${serverUrl}/${database}` });
  await client.connect();
  return client
    .query<{ count: number }>(text)
    .then(({ rows }) => rows)
    .finally(() => client.end());
}

const restoreTests = () => sql('postgres', "SELECT FROM pg_database WHERE datname LIKE 'restore_test%'");
const countReviews = async (database: string) =>
  (await sql(database, 'SELECT count(*)::int AS count FROM scheduling.reviews'))[0]?.count ?? 0;
