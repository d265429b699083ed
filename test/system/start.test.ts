// npm start as a user runs it, several times in the same folder: with everything on, after kill -9, over a stale lock file.
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test as base, describe, expect, onTestFinished } from 'vitest';
import { freePort } from '../../services/platform/process/ports.ts';
import { examine } from '../../services/programs/doctor/examine.ts';
import { showFindings } from '../../services/programs/doctor/finding.ts';
import { keepSecrets, readStartSettings } from '../../services/programs/start/settings.ts';
import type { Cleanup } from '../fixtures.ts';
import { createApi } from '../support/api.ts';
import { holdServerStart, untilServerReads } from '../support/held-server.ts';
import { createStartPlace } from '../support/npm-start.ts';
import { type Environment, root, startProcess } from '../support/processes.ts';

/** One folder for three starts, each of which ends the one before. */
const test = base
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from it that nothing else is needed
  .extend('place', { scope: 'file' }, ({}, { onCleanup }: Cleanup) => newPlace(onCleanup))
  .extend('first', { scope: 'file' }, startFirst)
  .extend('second', { scope: 'file' }, startSecond)
  .extend('third', { scope: 'file' }, startThird);

describe('the first npm start', () => {
  test('makes a demo user with a key, and shows the dashboard', async ({ first }) => {
    expect(first.output()).toContain(`curl -H "Authorization: Bearer ${first.key}" ${first.base}/me`);
    expect((await createApi(first.base, first.key).get('/me')).status).toBe(200);
    const dashboard = await fetch(/dashboard +(http:\S+\/dashboard)\n/.exec(first.output())?.[1] ?? '');
    expect([dashboard.status, await dashboard.text()]).toEqual([
      200,
      expect.stringContaining('Learning dashboard'),
    ]);
  });

  test('serves GraphQL with the token that it keeps', async ({ place, first }) => {
    expect(first.output()).not.toContain(tokenOf(place));
    expect(first.output()).toContain(`in ${join(place.dataDir, 'gateway-token')}`);
    expect(await query(place, first, '{ user(email: "demo@example.com") { firstName } }')).toEqual({
      data: { user: { firstName: 'Demo' } },
    });
  });

  test('keeps pepper, tokens, push keys and database password to their owner', ({ place, first: _ }) => {
    const files = ['gateway-token', 'key-pepper', 'vapid-keys', 'postgres/password'];
    const modes = files.map((file) => statSync(join(place.dataDir, file)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600, 0o600]);
  });

  test('watches all parts on one port', async ({ first }) => {
    expect(await readiness(first.ready)).toEqual([
      true,
      [
        'process/log',
        'accounts/database',
        'accounts/migrations',
        'accounts/revocations',
        'scheduling/database',
        'scheduling/migrations',
        'rest/revocations',
        'rest/scheduling',
        'rest/accounts',
        'reminders/database',
        'reminders/migrations',
        'reminders/scheduling',
        'reminders/accounts',
        'gateway/scheduling',
        'gateway/accounts',
        'gateway/reminders',
      ],
    ]);
    const metrics = await (await fetch(first.ready.replace('/ready', '/metrics'))).text();
    for (const pool of ['accounts', 'scheduling'])
      expect(metrics).toContain(`srs_pg_pool_max{pool="${pool}"} 16\n`);
    for (const check of ['database', 'migrations', 'scheduling', 'accounts'])
      expect(metrics).toContain(`srs_check_ok{check="reminders/${check}"} 1\n`);
  });

  test('reminds by mails in a folder', async ({ place, first }) => {
    expect(first.output()).toContain(`as .eml files in ${join(place.dataDir, 'mail')}`);
    const links = `http://127.0.0.1:${first.ports.REMINDERS_HTTP_PORT}`;
    expect((await fetch(`${links}/unsubscribe/unknown`)).status).toBe(404);
    const asked = await query(place, first, '{ pushPublicKey user(email: "demo@example.com") { id } }');
    const { user, pushPublicKey } = asked.data as { user: { id: string }; pushPublicKey: string };
    expect(pushPublicKey).toMatch(/^[\w-]{87}$/);
    await query(
      place,
      first,
      `mutation { sendTestReminder(input: { userId: "${user.id}", channel: EMAIL }) { deliveries { id } } }`,
    );
    const mails = () => readdirSync(join(place.dataDir, 'mail')).filter((name) => name.endsWith('.eml'));
    await expect.poll(mails).toHaveLength(1);
  });

  test('is well in all that npm run doctor looks at beside it, with the secrets that it keeps', async ({
    place,
    first,
  }) => {
    const said = showFindings(await examine(first.environment));
    expect(said).toMatch(/\n0 bad, 0 warning, \d+ ok\.\n$/);
    for (const line of [
      'database +ok +reachable at 127\\.0\\.0\\.1:\\d+/spaced_repetition',
      'migrations reminders +ok +up to date',
      'pepper 1 +ok +matches the secret in the database',
      'gateway tokens +ok +1 operator, 0 viewers',
      `mail +ok +no SMTP_URL: mails become \\.eml files in ${join(place.dataDir, 'mail')}`,
      'push keys +ok +VAPID_KEYS are a pair',
      ...Object.entries(first.ports).map(
        ([name, port]) => `port ${name} +ok +${port} is in use by this service`,
      ),
    ])
      expect(said).toMatch(new RegExp(`^${line}`, 'm'));
    for (const file of ['key-pepper', 'gateway-token', 'vapid-keys'])
      expect(said).not.toContain(readFileSync(join(place.dataDir, file), 'utf8').trim());
  });

  test('has its keys made, listed, rotated and revoked by npm run keys, in tables and in JSON', async ({
    place,
    first,
  }) => {
    const keys = async (...args: string[]) =>
      promisify(execFile)('npm', ['run', '--silent', 'keys', '--', ...args], {
        cwd: root,
        env: { ...place.environment, ACCOUNTS_URL: first.accounts },
      }).then(
        ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
        (error) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
      );
    const scopes = ['--scopes', 'materials:read,materials:write'];
    const profile = ['--email', 'ada@example.com', '--time-zone', 'Europe/Berlin'];
    const made = JSON.parse((await keys('create', ...profile, ...scopes, '--json')).stdout);
    expect(Object.keys(made)).toEqual([
      'id',
      'key',
      'userId',
      'email',
      'scopes',
      'createdAt',
      'expiresAt',
      'allowedAddresses',
    ]);
    const { body } = await createApi(first.base, made.key).get('/me');
    expect(body).toMatchObject({
      id: made.userId,
      email: 'ada@example.com',
      scopes: ['materials:read', 'materials:write'],
    });
    const rotated = JSON.parse(
      (await keys('rotate', made.id, '--scopes', 'materials:read', '--json')).stdout,
    );
    expect(rotated).toMatchObject({ userId: made.userId, scopes: ['materials:read'] });
    expect((await keys('revoke', made.id)).stdout).toBe(`Revoked ${made.id}.\n`);
    await expect.poll(async () => (await createApi(first.base, made.key).get('/me')).status).toBe(401);
    const audited = (action: string, id: string) =>
      expect(first.output()).toMatch(
        new RegExp(`"audit":true,"action":"${action}","caller":"keys","outcome":"ok".*"apiKeyId":"${id}"`),
      );
    audited('CreateApiKey', made.id);
    audited('RotateApiKey', rotated.id);
    audited('RevokeApiKey', made.id);
    expect(first.output()).not.toContain(made.key);
    const listed = (await keys('list', '--email', 'ADA@example.com')).stdout;
    expect(listed).toMatch(new RegExp(`${made.id} .*revoked`));
    expect(listed).not.toContain(made.key);
    const { code, stderr } = await keys('rotate', rotated.id, '--scopes', 'materials:write');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^invalid_scope: /)]);
  });

  test('keeps another start out of its data directory', async ({ place, first: _ }) => {
    await expect(place.start()).rejects.toThrow(
      process.platform === 'linux'
        ? /data\/postgres is in use by process \d+: stop it/
        : /is in use by another/,
    );
  });
});

describe('npm start after kill -9', () => {
  test('stops the database that was left behind, and has its data', async ({ second, first: { key } }) => {
    expect(isWorking(second.orphan)).toBe(false);
    const { body } = await createApi(second.base, key).get('/materials');
    expect(body).toMatchObject({ materials: [{ id: second.id, title: 'Survives' }] });
  });

  test('makes no other demo user', ({ second }) => {
    expect(second.output()).not.toContain('rmk_live_');
  });

  test('watches no part that is off', async ({ second }) => {
    const [ready, checks] = await readiness(second.ready);
    expect([ready, `${checks}`]).toEqual([true, expect.not.stringContaining('reminders')]);
  });

  test('ends with 0 on SIGTERM, together with its database', async ({ place, second }) => {
    expect(await second.end('SIGTERM')).toBe(0);
    expect(existsSync(lockOf(place))).toBe(false);
  });
});

describe('npm start without the gateway', () => {
  test('starts over a stale lock file whose process id now belongs to another program', ({ third }) => {
    expect(third.output()).toContain('Ready.');
  });

  test('says nothing of it', ({ third }) => {
    expect(third.output()).not.toMatch(/GraphQL|graphql|gateway|dashboard/);
  });

  test('ends with 1 and the reason where its database does not come back', async ({ place, third }) => {
    writeFileSync(join(place.dataDir, 'postgres/data/postgresql.conf'), 'no_such_setting = 1\n');
    process.kill(Number.parseInt(readFileSync(lockOf(place), 'utf8'), 10), 'SIGKILL');
    expect(await third.ended).toBe(1);
    expect(third.output()).toContain('keeps failing (restarted 5 times): PostgreSQL does not start');
  });
});

describe('npm start', () => {
  test.runIf(process.getuid?.() === 0)(
    'as root under a private folder, keeps the database where its account can reach it',
    async () => {
      const { folder, start } = newPlace(onTestFinished);
      chmodSync(folder, 0o700);
      const started = await start();
      expect(started.output()).toMatch(/The database lies in \/var\/lib\/spaced-repetition\/[\w-]+/);
      await started.end('SIGTERM');
      rmSync(/\/var\/lib\/spaced-repetition\/[\w-]+/.exec(started.output())?.[0] ?? '', { recursive: true });
      const parent = '/var/lib/spaced-repetition';
      if (readdirSync(parent).length === 0) rmSync(parent, { recursive: true });
    },
  );

  test('waits for DRAIN_MS once, with three HTTP servers: all of them are ending as soon as one is', async () => {
    const place = newPlace(onTestFinished);
    const port = await freePort();
    const reminders = { REMINDERS: 'on', REMINDERS_PORT: '0', REMINDERS_HTTP_PORT: `${port}` };
    const started = await place.start({ ...reminders, DRAIN_MS: '500000', SHUTDOWN_TIMEOUT_MS: '600000' });
    const [graphql = ''] = /http:\S+\/graphql/.exec(started.output()) ?? [];
    started.signal('SIGTERM');
    for (const url of [graphql, started.base, `http://127.0.0.1:${port}/unsubscribe/none`])
      await expect.poll(async () => (await fetch(url)).headers.get('connection')).toBe('close');
    // A second signal, after a second, ends it at once.
    const hasDatabase = () => {
      started.signal('SIGTERM');
      return existsSync(lockOf(place));
    };
    await expect.poll(hasDatabase).toBe(false);
  });

  test('is told to stop while PostgreSQL still starts, and ends with 0', async () => {
    const { start, dataDir, environment } = newPlace(onTestFinished);
    await (await start({ GATEWAY: 'off' })).end('SIGTERM');
    const data = join(dataDir, 'postgres/data');
    holdServerStart(data);
    const again = startProcess('npm', ['start', '--silent'], { env: environment, detached: true });
    const letGo = await untilServerReads(data);
    expect(await again.end('SIGTERM')).toBe(0);
    letGo();
  });

  test('names every bad variable with what it may be, no secret, and makes nothing', async () => {
    const { start, dataDir, environment } = newPlace(onTestFinished);
    const token = 'operator:operator:too-short-a-token';
    const bad = { REST_PORT: 'x', LOG_LEVEL: 'loud', KEY_PEPPER: 'short', GATEWAY_TOKENS: token };
    await expect(start({ ...bad, GATEWAY: 'offf' })).rejects.toThrow(
      new Error(
        [
          'The configuration is not usable:',
          '  - LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud"',
          '  - REST_PORT must be a whole number from 0 to 65535, not "x"',
          '  - KEY_PEPPER must be VERSION:SECRET entries, each secret at least 32 characters long',
          '  - GATEWAY must be one of on, off, not "offf"',
          '  - GATEWAY_TOKENS must be name:role:token entries separated by commas, role viewer or operator, ' +
            'token of at least 32 characters such as the output of "openssl rand -hex 32"',
          '',
        ].join('\n'),
      ),
    );
    expect(existsSync(dataDir)).toBe(false);
    const read = (variables: Environment) => () => readStartSettings({ ...environment, ...variables });
    expect(read({ GATEWAY_TOKENS: token })).toThrow(/^ {2}- GATEWAY_TOKENS must be/m);
    expect(read({ GATEWAY: 'offf' })).toThrow(/^ {2}- GATEWAY must be one of on, off/m);
    expect(read({ DATABASE_SESSION_URL: 'postgres://127.0.0.1:1/x' })).toThrow(
      /^ {2}- DATABASE_SESSION_URL is set, but DATABASE_URL is not: the first is for the database of the second$/m,
    );
  });

  test('names a DATA_DIR that cannot be used, also where it only keeps secrets there', async () => {
    const { folder, start, environment } = newPlace(onTestFinished);
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const why = `${file} cannot be used: a file is in its place. `;
    await expect(start({ DATA_DIR: file })).rejects.toThrow(`Could not start: ${why}`);
    const given = { DATABASE_URL: 'postgres://127.0.0.1:1/none', GATEWAY: 'off', DATA_DIR: file };
    expect(() => keepSecrets(readStartSettings({ ...environment, ...given }))).toThrow(why);
  });
});

type Place = ReturnType<typeof createStartPlace>;

/** Cleared when the file or the test is done. */
function newPlace(onDone: (clear: () => Promise<void>) => void): Place {
  const place = createStartPlace();
  onDone(place.clear);
  return place;
}

/** With reminders. */
async function startFirst({ place }: { place: Place }) {
  const REMINDERS_HTTP_PORT = `${await freePort()}`;
  const more = { REMINDERS: 'on', MAIL_FROM: 'Reminders <reminders@example.com>', REMINDERS_HTTP_PORT };
  const started = await place.start({ ...more, REMINDERS_PORT: '0', OPS_PORT: '0' });
  const portAfter = (label: string) =>
    new RegExp(`^  ${label} +\\S*127\\.0\\.0\\.1:(\\d+)`, 'm').exec(started.output())?.[1] ?? 'none';
  const ports = {
    REST_PORT: portAfter('REST API'),
    SCHEDULING_PORT: portAfter('scheduling \\(gRPC\\)'),
    ACCOUNTS_PORT: portAfter('accounts \\(gRPC\\)'),
    GRAPHQL_PORT: portAfter('GraphQL'),
    REMINDERS_PORT: portAfter('reminders \\(gRPC\\)'),
    REMINDERS_HTTP_PORT,
    OPS_PORT: portAfter('health, metrics'),
  };
  return { ...started, ports, environment: { ...place.environment, ...more, ...ports } };
}
type First = Awaited<ReturnType<typeof startFirst>>;

/** After kill -9, without reminders. */
async function startSecond({ place, first }: { place: Place; first: First }) {
  const { id } = await createApi(first.base, first.key).create({ title: 'Survives' });
  await first.end('SIGKILL');
  const [orphan] = readFileSync(lockOf(place), 'utf8').split('\n');
  return { ...(await place.start({ OPS_PORT: '0' })), id, orphan };
}
type Second = Awaited<ReturnType<typeof startSecond>>;

/** Over a lock file that names another program, without the gateway. */
async function startThird({ place, second }: { place: Place; second: Second }) {
  await second.end('SIGTERM');
  const dataDir = join(place.dataDir, 'postgres/data');
  writeFileSync(lockOf(place), `${process.pid}\n${dataDir}\n0\n5999\n\n127.0.0.1\n\nready\n`);
  return place.start({ GATEWAY: 'off' });
}

const lockOf = ({ dataDir }: Place) => join(dataDir, 'postgres/data/postmaster.pid');
const tokenOf = ({ dataDir }: Place) => readFileSync(join(dataDir, 'gateway-token'), 'utf8').trim();

async function query(place: Place, started: { output(): string }, text: string): Promise<{ data: unknown }> {
  const [url = ''] = /http:\S+\/graphql/.exec(started.output()) ?? [];
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${tokenOf(place)}` },
    body: JSON.stringify({ query: text }),
  });
  return (await response.json()) as { data: unknown };
}

/** Whether all is well, and the names of what is looked at. */
async function readiness(url: string): Promise<[boolean, string[]]> {
  const response = await fetch(url);
  const { ready, checks } = (await response.json()) as { ready: boolean; checks: { name: string }[] };
  return [ready, checks.map(({ name }) => name)];
}

/** One that ended but that nobody has reaped yet has no command line any more. */
const isWorking = (pid: string | undefined) =>
  existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
