import { execFile } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../../services/platform/process/ports.ts';
import { createApi } from '../support/api.ts';
import { createStartPlace, type Started, type StartPlace } from '../support/npm-start.ts';
import { root } from '../support/processes.ts';

beforeEach(prepareEach);
afterEach(() => place.clear());

describe('npm start', () => {
  test('makes a demo user on the first run only, keeps the data, and ends with 0 on SIGTERM and Ctrl-C', async () => {
    const first = await start();
    const { key } = first;
    expect(first.output()).toContain(`curl -H "Authorization: Bearer ${key}" ${first.base}/me`);
    const dashboard = await fetch(/dashboard +(http:\S+\/dashboard)\n/.exec(first.output())?.[1] ?? '');
    expect([dashboard.status, await dashboard.text()]).toEqual([
      200,
      expect.stringContaining('Learning dashboard'),
    ]);
    const { id } = await createApi(first.base, key).create({ title: 'Kept' });
    expect(await first.end('SIGTERM')).toBe(0);
    const second = await start();
    expect(second.output()).not.toContain('rmk_live_');
    const { body } = await createApi(second.base, key).get('/materials');
    expect(body).toMatchObject({ materials: [{ id, title: 'Kept' }] });
    expect(await second.end('SIGINT')).toBe(0);
    expect(existsSync(join(folder, 'data/postgres/data/postmaster.pid'))).toBe(false);
  });

  test('starts again after kill -9, stopping the database that was left behind', async () => {
    const first = await start();
    const { key } = first;
    await createApi(first.base, key).create({ title: 'Survives' });
    await first.end('SIGKILL');
    const orphan = readFileSync(join(folder, 'data/postgres/data/postmaster.pid'), 'utf8').split('\n')[0];
    const second = await start();
    expect((await createApi(second.base, key).get('/materials')).body).toMatchObject({
      materials: [{ title: 'Survives' }],
    });
    expect(isWorking(orphan)).toBe(false);
  });

  test('starts over a stale lock file whose process id now belongs to another program', async () => {
    const first = await start();
    await first.end('SIGTERM');
    const lock = join(folder, 'data/postgres/data/postmaster.pid');
    writeFileSync(lock, `${process.pid}\n${dirname(lock)}\n0\n5999\n\n127.0.0.1\n\nready\n`);
    const second = await start();
    expect(second.output()).toContain('Ready.');
  });

  test('refuses a data directory that another start is using', async () => {
    await start();
    await expect(start()).rejects.toThrow(
      process.platform === 'linux'
        ? /data\/postgres is in use by process \d+: stop it/
        : /is in use by another/,
    );
  });

  test('ends with 1 and the reason where its database does not come back', async () => {
    const started = await start();
    const data = join(folder, 'data/postgres/data');
    writeFileSync(join(data, 'postgresql.conf'), 'no_such_setting = 1\n');
    process.kill(Number.parseInt(readFileSync(join(data, 'postmaster.pid'), 'utf8'), 10), 'SIGKILL');
    expect(await started.ended).toBe(1);
    expect(started.output()).toContain('keeps failing (restarted 5 times): PostgreSQL does not start');
  });

  test('serves GraphQL with the token it keeps, and GATEWAY=off leaves that out', async () => {
    const started = await start();
    const token = readFileSync(join(folder, 'data/gateway-token'), 'utf8').trim();
    expect(started.output()).not.toContain(token);
    expect(started.output()).toContain(`in ${join(folder, 'data/gateway-token')}`);
    const [url = ''] = /http:\S+\/graphql/.exec(started.output()) ?? [];
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: '{"query":"{ user(email: \\"demo@example.com\\") { firstName } }"}',
    });
    expect(await answer.json()).toEqual({ data: { user: { firstName: 'Demo' } } });
    expect(await started.end('SIGINT')).toBe(0);
    const without = await start({ GATEWAY: 'off' });
    expect(without.output()).not.toMatch(/GraphQL|graphql|gateway|dashboard/);
  });

  test('keeps pepper, tokens and database password to their owner, and watches all parts on one port', async () => {
    const started = await start({ OPS_PORT: '0' });
    type Report = { ready: boolean; checks: { name: string }[] };
    const { ready, checks } = (await (await fetch(started.ready)).json()) as Report;
    expect([ready, checks.map(({ name }) => name)]).toEqual([
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
        'gateway/scheduling',
        'gateway/accounts',
      ],
    ]);
    const metrics = await (await fetch(started.ready.replace('/ready', '/metrics'))).text();
    for (const pool of ['accounts', 'scheduling'])
      expect(metrics).toContain(`srs_pg_pool_max{pool="${pool}"} 16\n`);
    expect(statSync(join(folder, 'data/gateway-token')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'data/key-pepper')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'data/postgres/password')).mode & 0o777).toBe(0o600);
  });

  test('reminds by mails in a folder, with keys for push that it keeps to their owner', async () => {
    const port = await freePort();
    const ports = { OPS_PORT: '0', REMINDERS_PORT: '0', REMINDERS_HTTP_PORT: `${port}` };
    const started = await start({ REMINDERS: 'on', ...ports });
    expect(started.output()).toContain(`as .eml files in ${join(folder, 'data/mail')}`);
    expect((await fetch(`http://127.0.0.1:${port}/unsubscribe/unknown`)).status).toBe(404);
    const token = readFileSync(join(folder, 'data/gateway-token'), 'utf8').trim();
    const ask = async (query: string) => {
      const response = await fetch(/http:\S+\/graphql/.exec(started.output())?.[0] ?? '', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query }),
      });
      return ((await response.json()) as { data: { user: { id: string }; pushPublicKey: string } }).data;
    };
    const { user, pushPublicKey } = await ask('{ pushPublicKey user(email: "demo@example.com") { id } }');
    expect(pushPublicKey).toMatch(/^[\w-]{87}$/);
    await ask(
      `mutation { sendTestReminder(input: { userId: "${user.id}", channel: EMAIL }) { deliveries { id } } }`,
    );
    const mails = () => readdirSync(join(folder, 'data/mail')).filter((name) => name.endsWith('.eml'));
    await expect.poll(mails).toHaveLength(1);
    expect(statSync(join(folder, 'data/vapid-keys')).mode & 0o777).toBe(0o600);
    const metrics = await (await fetch(started.ready.replace('/ready', '/metrics'))).text();
    for (const check of ['database', 'migrations', 'scheduling', 'accounts'])
      expect(metrics).toContain(`srs_check_ok{check="reminders/${check}"} 1\n`);
  });

  test('is well in all that npm run doctor looks at beside it, with the secrets that it keeps', async () => {
    const names = ['REST', 'SCHEDULING', 'ACCOUNTS', 'GRAPHQL', 'REMINDERS', 'REMINDERS_HTTP', 'OPS'];
    const ports: Record<string, string> = {};
    for (const name of names) ports[`${name}_PORT`] = `${await freePort()}`;
    const more = { ...ports, REMINDERS: 'on', MAIL_FROM: 'Reminders <reminders@example.com>' };
    await start(more);
    const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'doctor'], {
      cwd: root,
      env: { ...place.environment, ...more },
    });
    expect(stdout).toMatch(/\n0 bad, 0 warning, \d+ ok\.\n$/);
    for (const line of [
      'database +ok +reachable at 127\\.0\\.0\\.1:\\d+/spaced_repetition',
      'migrations reminders +ok +up to date',
      'pepper 1 +ok +matches the secret in the database',
      'gateway tokens +ok +1 operator, 0 viewers',
      `mail +ok +no SMTP_URL: mails become \\.eml files in ${join(folder, 'data/mail')}`,
      'push keys +ok +VAPID_KEYS are a pair',
      ...Object.entries(ports).map(([name, port]) => `port ${name} +ok +${port} is in use by this service`),
    ])
      expect(stdout).toMatch(new RegExp(`^${line}`, 'm'));
    for (const file of ['key-pepper', 'gateway-token', 'vapid-keys'])
      expect(stdout).not.toContain(readFileSync(join(folder, 'data', file), 'utf8').trim());
  });

  test.runIf(process.getuid?.() === 0)(
    'as root under a private folder, keeps the database where its account can reach it',
    async () => {
      chmodSync(folder, 0o700);
      const started = await start();
      expect(started.output()).toMatch(/The database lies in \/var\/lib\/spaced-repetition\/[\w-]+/);
      await started.end('SIGTERM');
      rmSync(/\/var\/lib\/spaced-repetition\/[\w-]+/.exec(started.output())?.[0] ?? '', { recursive: true });
      const parent = '/var/lib/spaced-repetition';
      if (readdirSync(parent).length === 0) rmSync(parent, { recursive: true });
    },
  );

  test('names every bad variable with what it may be, no secret, and makes nothing', async () => {
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
    await expect(start({ GATEWAY_TOKENS: token })).rejects.toThrow(/^ {2}- GATEWAY_TOKENS must be/m);
    await expect(start({ GATEWAY: 'offf' })).rejects.toThrow(/^ {2}- GATEWAY must be one of on, off/m);
    await expect(start({ DATABASE_SESSION_URL: 'postgres://127.0.0.1:1/x' })).rejects.toThrow(
      '  - DATABASE_SESSION_URL is set, but DATABASE_URL is not: the first is for the database of the second\n',
    );
    expect(existsSync(place.dataDir)).toBe(false);
  });

  test('names a DATA_DIR that cannot be used, also where it only keeps secrets there', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const why = `Could not start: ${file} cannot be used: a file is in its place. `;
    await expect(start({ DATA_DIR: file })).rejects.toThrow(why);
    const given = { DATABASE_URL: 'postgres://127.0.0.1:1/none', GATEWAY: 'off' };
    await expect(start({ ...given, DATA_DIR: file })).rejects.toThrow(why);
  });
});

describe('npm run keys', () => {
  test('creates, lists, rotates and revokes, in tables and in JSON', async () => {
    const started = await start();
    const keys = async (...args: string[]) =>
      promisify(execFile)('npm', ['run', '--silent', 'keys', '--', ...args], {
        cwd: root,
        env: { ...place.environment, ACCOUNTS_URL: started.accounts },
      }).then(
        ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
        (error) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
      );
    expect((await keys('--help')).stdout).toContain('npm run keys -- create --email E');
    const made = JSON.parse(
      (
        await keys(
          'create',
          '--email',
          'ada@example.com',
          '--scopes',
          'materials:read,materials:write',
          '--time-zone',
          'Europe/Berlin',
          '--json',
        )
      ).stdout,
    );
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
    const { body } = await createApi(started.base, made.key).get('/me');
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
    await expect.poll(async () => (await createApi(started.base, made.key).get('/me')).status).toBe(401);
    const audited = (action: string, id: string) =>
      expect(started.output()).toMatch(
        new RegExp(`"audit":true,"action":"${action}","caller":"keys","outcome":"ok".*"apiKeyId":"${id}"`),
      );
    audited('CreateApiKey', made.id);
    audited('RotateApiKey', rotated.id);
    audited('RevokeApiKey', made.id);
    expect(started.output()).not.toContain(made.key);
    const listed = (await keys('list', '--email', 'ADA@example.com')).stdout;
    expect(listed).toMatch(new RegExp(`${made.id} .*revoked`));
    expect(listed).not.toContain(made.key);
    for (const [args, message] of [
      [['create', '--email', 'x'], 'invalid_request: '],
      [['create'], 'invalid_request: --email is required'],
      [['create', '--email', 'ada@example.com', '--scopes', 'all'], 'invalid_scope: '],
      [['rotate', rotated.id, '--scopes', 'materials:write'], 'invalid_scope: '],
      [['revoke', 'nothing'], 'not_found: '],
      [['list', '--email', 'nobody@example.com'], 'not_found: '],
      [['dance'], 'invalid_request: There is no command "dance"'],
      [['list', '--colour'], 'invalid_request: '],
      [['rotate', rotated.id, '--name', 'n'], 'invalid_request: "rotate" takes no --name.'],
      [['list', '--email', 'ada@example.com', '--scopes', 'x'], 'invalid_request: "list" takes no --scopes.'],
      [['revoke', rotated.id, '--email', 'ada@example.com'], 'invalid_request: "revoke" takes no --email.'],
    ] as const) {
      const { code, stderr } = await keys(...args);
      expect([code, stderr.startsWith(message)], `${args}: ${stderr}`).toEqual([1, true]);
    }
  });
});

let place: StartPlace;
let folder: string;

function prepareEach(): void {
  place = createStartPlace();
  folder = place.folder;
}

const start = (more?: Record<string, string>): Promise<Started> => place.start(more);

/** One that ended but that nobody has reaped yet has no command line any more. */
const isWorking = (pid: string | undefined) =>
  existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
