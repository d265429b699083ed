// What a person sees of npm start on a terminal, and what any start refuses before it makes or migrates anything.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { openDatabase } from '../../services/platform/postgres/database.ts';
import { requireReachable } from '../../services/platform/postgres/service-database.ts';
import { ConfigError } from '../../services/platform/process/config.ts';
import { requireFreePorts } from '../../services/platform/process/ports.ts';
import { runningUrl } from '../../services/programs/program-database.ts';
import { portsOf, readStartSettings } from '../../services/programs/start/settings.ts';
import { ask, createMigratedDatabase, createTestDatabase } from '../support/database.ts';
import { createStartPlace, type StartPlace } from '../support/npm-start.ts';
import type { Environment, Process } from '../support/processes.ts';
import { hasTerminal, startOnTerminal } from '../support/terminal.ts';

beforeEach(() => {
  place = createStartPlace();
});
afterEach(cleanUp);

describe.runIf(hasTerminal)('npm start on a terminal', () => {
  test('ends cleanly on Ctrl-C during the start; the next continues, shows the log lines with LOG_LEVEL, and warns of nothing at the end', async () => {
    const env = { ...place.environment, LOG_LEVEL: undefined };
    const terminal = startOnTerminal('npm start --silent', env);
    running.push(terminal);
    await terminal.says((output) => output.includes('creating the database') || undefined);
    expect(await terminal.pressCtrlC()).toBe(0);
    expect(terminal.screen()).toContain(
      `Stopped. Your data is in ${place.dataDir}; npm start continues with it.`,
    );
    expect(terminal.output()).not.toContain('starting the REST API');
    expect(terminal.screen()).not.toContain('Ready.');
    expect(existsSync(join(place.dataDir, 'postgres/data/postmaster.pid'))).toBe(false);
    const log = () => readFileSync(join(place.dataDir, 'log'), 'utf8');
    const logged = log();
    const next = await startHere({ LOG_LEVEL: 'info' });
    expect(next.output()).toMatch(/INFO .*schema migrated/);
    expect(await next.pressCtrlC()).toBe(0);
    expect(next.output().split('^C').at(-1)).not.toMatch(/WARN|ERROR/);
    expect(log()).toBe(logged);
  });

  test('tells its progress, then one screen without log lines, the next steps, and where the data is at the end; a later one ends with its database when the terminal is closed', async () => {
    const { dataDir } = place;
    const first = await startHere();
    const progress = [...first.output().matchAll(/\r\d:\d\d {2}([\w ]+)/g)].map(([, text]) => text);
    expect([...new Set(progress)]).toEqual([
      'loading',
      'creating the database',
      'starting accounts',
      'starting scheduling',
      'starting the REST API',
      'starting the gateway',
    ]);
    const [, base, key] = /REST API +(\S+)[\s\S]*(rmk_live_\w{49})/.exec(first.screen()) ?? [];
    expect((await fetch(`${base}/me`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
    const [, port] = /accounts \(gRPC\) +127\.0\.0\.1:(\d+)/.exec(first.screen()) ?? [];
    expect(first.screen()).toContain(`  log                ${join(dataDir, 'log')}\n`);
    expect(first.screen()).toContain(
      [
        'Next, in another terminal:',
        '  Learners to look at in the dashboard:',
        `    DATA_DIR='${dataDir}' npm run seed`,
        '  Another API key:',
        `    ACCOUNTS_PORT=${port} npm run keys -- create --email demo@example.com --scopes ` +
          'materials:read,materials:write,reviews:read,reviews:write,snooze:write,profile:read',
        '',
        'Ready. Press Ctrl-C to stop.',
        '',
      ].join('\n'),
    );
    expect(await first.pressCtrlC()).toBe(0);
    expect(first.screen()).toMatch(
      new RegExp(
        `Press Ctrl-C to stop\\.\n\\^C\nStopping\\.\nStopped\\. Your data is in ${dataDir}; npm start continues with it\\.\n$`,
      ),
    );
    const log = readFileSync(join(dataDir, 'log'), 'utf8');
    expect(statSync(join(dataDir, 'log')).mode & 0o777).toBe(0o600);
    expect(log).toContain('"audit":true,"action":"CreateApiKey"');
    expect(log).toContain('"route":"/v1/me"');
    const unwanted = log.split('\n').filter((line) => /"level":[456]0|rmk_live_/.test(line));
    expect(unwanted, unwanted.join('\n')).toEqual([]);

    const second = await startHere();
    expect(second.screen()).toContain('  An API key (keys of earlier runs stay valid):\n    ACCOUNTS_PORT=');
    expect(second.screen()).not.toContain('rmk_live_');
    await second.end('SIGKILL');
    await expect.poll(() => runningUrl(join(dataDir, 'postgres'))).toBeUndefined();
    expect(readFileSync(join(dataDir, 'log'), 'utf8')).not.toContain('uncaught error');
  });

  test('makes no user in the database of DATABASE_URL, and says that the data are there', async () => {
    const { databaseUrl, drop } = await createTestDatabase();
    const terminal = await startHere({ DATABASE_URL: databaseUrl });
    expect(terminal.screen()).toContain('  database           DATABASE_URL\n');
    expect(terminal.screen()).toMatch(
      /\nNext, in another terminal:\n {2}An API key \(keys of earlier runs stay valid\):\n {4}ACCOUNTS_PORT=\d+ npm run keys -- create --email you@example\.com --scopes /,
    );
    expect(terminal.screen()).not.toContain('rmk_live_');
    expect(await ask(databaseUrl, 'SELECT email FROM accounts.users')).toEqual([]);
    expect(await terminal.pressCtrlC()).toBe(0);
    expect(terminal.screen()).toContain(
      '\nStopped. Your data is in the database of DATABASE_URL; npm start continues with it.\n',
    );
    expect(existsSync(join(place.dataDir, 'postgres'))).toBe(false);
    await drop();
  });

  const startHere = async (more: Record<string, string | undefined> = {}) => {
    const env = { ...place.environment, LOG_LEVEL: undefined, ...more };
    const terminal = startOnTerminal('npm start --silent', env);
    running.push(terminal);
    await terminal.says((output) => output.includes('Ready.') || undefined);
    return terminal;
  };
});

describe('before it makes anything, npm start', () => {
  test('names each port that is taken or given twice, by its variable', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    await expect(
      place.start({ REST_PORT: `${port}`, SCHEDULING_PORT: `${port}`, OPS_PORT: '0', OPS_HOST: '192.0.2.1' }),
    ).rejects.toThrow(
      new Error(
        [
          'The configuration is not usable:',
          `  - REST_PORT is ${port}: 127.0.0.1:${port} is in use by another program; stop it (ss -ltnp 'sport = :${port}' shows it), or set REST_PORT to another port`,
          `  - REST_PORT and SCHEDULING_PORT are both ${port}: set one of them to another port`,
          '',
        ].join('\n'),
      ),
    );
    expect(existsSync(place.dataDir)).toBe(false);
    const check = (ports: Environment) =>
      requireFreePorts(portsOf(readStartSettings({ ...place.environment, ...ports })));
    await expect(
      check({ REMINDERS: 'on', REMINDERS_PORT: '0', REMINDERS_HTTP_PORT: `${port}` }),
    ).rejects.toThrow(`  - REMINDERS_HTTP_PORT is ${port}: 127.0.0.1:${port} is in use by another program; `);
    await expect(check({ REST_PORT: `${port}`, OPS_PORT: `${port}` })).rejects.toThrow(
      `  - REST_PORT and OPS_PORT are both ${port}: set one of them to another port`,
    );
    other.close();
  });

  test('names a wrong host in DATABASE_URL, and no password', async () => {
    const failure = await refused('postgres://ada:geheim@nowhere.invalid:5432/x');
    expect(failure).toMatch(
      /^Could not start: the database nowhere\.invalid:5432\/x cannot be used: .*(ENOTFOUND|EAI_AGAIN).*; .*correct the host in DATABASE_URL.*\n$/,
    );
    expect(failure).not.toContain('geheim');
  });

  test('names a wrong password, a wrong database and a malformed DATABASE_URL, and migrates nothing', async () => {
    const database = await createTestDatabase();
    const url = new URL(database.databaseUrl);
    const { host, pathname } = url;
    url.password = 'geheim';
    expect(await refused(url.href)).toBe(
      `Could not start: the database ${host}${pathname} cannot be used: password authentication failed for user "postgres"; put the right user and password into DATABASE_URL\n`,
    );
    const missing = new URL('/not-there', database.databaseUrl).href;
    const logger = createLogger('test', 'silent');
    const pool = openDatabase({ databaseUrl: missing, applicationName: 'test', maxConnections: 1, logger });
    await expect(requireReachable(pool, missing)).rejects.toThrow(
      `the database ${host}/not-there cannot be used: database "not-there" does not exist; correct the name in DATABASE_URL, or create it: CREATE DATABASE`,
    );
    await pool.close();
    expect(() => readStartSettings({ DATABASE_URL: 'postgres//ada:geheim@host' })).toThrow(
      new ConfigError([
        'DATABASE_URL must be a URL of one host, such as postgres://user:password@host:5432/name, special characters in the password percent-encoded',
      ]),
    );
    const schemas = "SELECT 1 FROM pg_namespace WHERE nspname IN ('accounts', 'scheduling')";
    expect(await ask(database.databaseUrl, schemas)).toEqual([]);
    await database.drop();
  });

  test('names a malformed REDIS_URL without repeating it; a Redis that does not answer is a line in the table', async () => {
    expect(() => readStartSettings({ REDIS_URL: 'geheim' })).toThrow(
      new ConfigError([
        'REDIS_URL must be redis://HOST:PORT or rediss://USER:PASSWORD@HOST:PORT, special characters in the password percent-encoded, or several separated by commas',
      ]),
    );
    const { databaseUrl, drop } = await createMigratedDatabase();
    const started = await place.start({
      DATABASE_URL: databaseUrl,
      GATEWAY: 'off',
      REDIS_URL: 'redis://:geheim@127.0.0.1:1',
      LOG_LEVEL: 'warn',
    });
    // On a busy machine the time is over before the refusal is read.
    expect(started.output()).toMatch(
      /write limit {8}in this process, since the Redis of REDIS_URL does not answer \([^()]+\): start it, or correct REDIS_URL\n/,
    );
    const line =
      '"msg":"Redis is unavailable: this process limits writes, at the same rate. Start it, or correct REDIS_URL"';
    await expect.poll(() => started.output()).toContain(line);
    expect(started.output()).not.toContain('geheim');
    await started.end();
    await drop();
  });

  /** What it says when it does not start. */
  const refused = (databaseUrl: string): Promise<string> =>
    place.start({ DATABASE_URL: databaseUrl, GATEWAY: 'off' }).then(
      () => 'started',
      (error: Error) => error.message,
    );
});

let place: StartPlace;
const running: Process[] = [];

async function cleanUp(): Promise<void> {
  await Promise.all(running.splice(0).map((each) => each.end('SIGKILL')));
  await place.clear();
}
