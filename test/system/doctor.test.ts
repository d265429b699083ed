// Real faults, each of which npm run doctor reports with a remedy.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startEmbeddedPostgres } from '../../services/embedded-postgres/embedded-postgres.ts';
import { startGrpcServer } from '../../services/platform/grpc/server.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { freePort } from '../../services/platform/process/ports.ts';
import { REDIS_CHECKS } from '../../services/programs/doctor/check-redis.ts';
import { examine as examineDeployment } from '../../services/programs/doctor/examine.ts';
import { runChecks, showFindings } from '../../services/programs/doctor/finding.ts';
import { createAccountsClients } from '../../services/programs/keys/clients.ts';
import { makeVapidKeys } from '../../services/reminders/channels/vapid-keys.ts';
import { smtpError, startSmtpServer } from '../reminders/channels/smtp.ts';
import { type Certificates, makeCertificates } from '../support/certificates.ts';
import { ask, createTestDatabase, type TestDatabase, undoMigration } from '../support/database.ts';
import { startOpenIdProvider } from '../support/openid-provider.ts';
import { type Environment, root } from '../support/processes.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { argumentsOf, type ServiceProcess, startService } from '../support/services.ts';

beforeAll(startAll);
afterAll(stopAll);

describe('a healthy deployment', () => {
  test('is ok in every line, through npm as well, and exits 0', async () => {
    const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'doctor'], {
      cwd: root,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...healthy },
    });
    const lines = stdout.trim().split('\n');
    expect(lines[0]).toMatch(/^check +state +finding, and how to fix it$/);
    expect(lines.at(-1)).toMatch(/^0 bad, 0 warning, \d+ ok\.$/);
    for (const [check, found] of [
      ['database version', 'PostgreSQL 18'],
      ['database locale', 'UTF8, and É matches é'],
      [
        'database slots',
        '\\d+ of \\d+ connections are free; one process each of accounts, scheduling may open',
      ],
      ['migrations accounts', 'up to date'],
      ['migrations scheduling', 'up to date'],
      ['pepper 1', 'matches the secret in the database'],
      ['service accounts', 'serves at 127.0.0.1'],
      ['service scheduling', 'serves at 127.0.0.1'],
      ['gateway tokens', '1 operator, 0 viewers'],
      ['port SCHEDULING_PORT', '\\d+ is in use by this service'],
      ['port REST_PORT', '0: any free port'],
    ] as const) {
      expect(stdout).toMatch(new RegExp(`^${check} +ok +${found}`, 'm'));
    }
    expect(stdout).not.toContain('->');
  });

  test('is ok where rest and the gateway run, with health and metrics', async () => {
    const settings = { ...healthy, REMINDERS: 'off' };
    const [rest, gateway] = await Promise.all([
      startService('rest', settings),
      startService('gateway', settings),
    ]);
    const opsPort = new URL(gateway.ops ?? '').port;
    const ports = { REST_PORT: `${rest.port}`, GRAPHQL_PORT: `${gateway.port}`, OPS_PORT: opsPort };
    // A pooler has a URL of its own.
    const session = { DATABASE_SESSION_URL: database.databaseUrl };
    const { isBad, of } = await examine({ ...ports, ...session }).finally(() =>
      Promise.all([rest.stop(), gateway.stop()]),
    );
    expect(of('database session')).toMatchObject({
      state: 'ok',
      found: 'DATABASE_SESSION_URL is reachable',
    });
    for (const [name, port] of Object.entries(ports)) {
      const found = `${port} is in use by this service, which is running`;
      expect(of(`port ${name}`)).toEqual({ check: `port ${name}`, state: 'ok', found });
    }
    expect(isBad).toBe(false);
    expect(of('database slots')?.found).toMatch(
      /connections are free; one process each of accounts, scheduling may open \d+ more$/,
    );
  });
});

test.runIf(process.platform === 'linux')(
  'a service that runs at another address than 127.0.0.1 is known as ours',
  async () => {
    const { DATABASE_URL = '' } = healthy;
    const HOST = '127.0.0.2';
    const common = { DATABASE_URL, SERVICE_TOKEN: TOKEN, HOST };
    const [rest, scheduling] = await Promise.all([
      startService('rest', { ...healthy, HOST }),
      startService('scheduling', common),
    ]);
    const ports = { REST_PORT: `${rest.port}`, SCHEDULING_PORT: `${scheduling.port}` };
    const { of } = await examine({ HOST, ...ports }).finally(() =>
      Promise.all([rest.stop(), scheduling.stop()]),
    );
    for (const [name, port] of Object.entries(ports)) {
      const found = `${port} is in use by this service, which is running`;
      expect(of(`port ${name}`)).toEqual({ check: `port ${name}`, state: 'ok', found });
    }
  },
);

/** For mails from a domain of ours. */
const REMINDING = {
  MAIL_FROM: 'Reminders <reminders@example.com>',
  PUBLIC_URL: 'https://r.example',
  REMINDERS_PORT: '0',
  REMINDERS_HTTP_PORT: '0',
};

describe('a fault is found, with how to remedy it:', () => {
  test('an address for all, which services need a token for and npm start does not, since it keeps gRPC on loopback', async () => {
    const open = { HOST: '0.0.0.0', SERVICE_TOKEN: '' };
    const services = await examine(open);
    expect(services.of('configuration')).toMatchObject({
      state: 'bad',
      found: expect.stringContaining('beyond loopback, gRPC needs SERVICE_TOKEN'),
    });
    const start = await run({ ...healthy, ...open }, '--json', '--start');
    const findings: Finding[] = JSON.parse(start.stdout);
    expect(findings[0]).toMatchObject({ check: 'configuration', state: 'ok' });
  });

  test('a gateway that is neither on nor off, tokens that cannot be read, another program at its port', async () => {
    const other = createHttpServer((_request, response) => response.end('<title>GraphiQL</title>'));
    await once(other.listen(0, '127.0.0.1'), 'listening');
    const port = `${(other.address() as AddressInfo).port}`;
    const { isBad, of } = await examine({ GATEWAY: 'maybe', GATEWAY_TOKENS: 'olga', GRAPHQL_PORT: port });
    other.close();
    expect(isBad).toBe(true);
    expect(of('gateway tokens')).toMatchObject({ state: 'bad', found: 'none can be read' });
    expect(of('port GRAPHQL_PORT')).toMatchObject({
      state: 'bad',
      found: `127.0.0.1:${port} is in use by another program`,
    });
    const { findings } = await examine({ GATEWAY: 'maybe' });
    expect(findings[0]).toMatchObject({ state: 'bad', found: 'GATEWAY must be one of on, off, not "maybe"' });
    expect((await examine({ GATEWAY: 'off' })).of('gateway tokens')).toMatchObject({
      found: 'GATEWAY is off',
    });
  });

  test('one port that two services want, and no other program to be stopped', async () => {
    const port = `${await freePort()}`;
    const { of } = await examine({ REST_PORT: port, GRAPHQL_PORT: port });
    expect(of('port REST_PORT')).toMatchObject({ state: 'ok', found: `127.0.0.1:${port} is free` });
    expect(of('port GRAPHQL_PORT')).toMatchObject({
      state: 'bad',
      found: `REST_PORT is ${port} too`,
      remedy: 'set one of them to another port',
    });
  });

  test('gateway tokens that are missing, the same for two people, and of two people with one name', async () => {
    const [one, other] = ['1'.repeat(32), '2'.repeat(32)];
    const tokens = async (GATEWAY_TOKENS: string) => (await examine({ GATEWAY_TOKENS })).of('gateway tokens');
    expect(await tokens('')).toMatchObject({
      state: 'warning',
      found: 'GATEWAY_TOKENS is not set: the gateway will not start',
      remedy: expect.stringContaining('openssl rand -hex 32'),
    });
    expect(await tokens(`olga:operator:${one},vic:viewer:${one}`)).toMatchObject({
      state: 'bad',
      found: 'two entries have the same token: only the first counts',
    });
    expect(await tokens(`olga:operator:${one},olga:viewer:${other}`)).toMatchObject({
      state: 'warning',
      found: 'two entries are named olga',
    });
    expect(await tokens(`olga:operator:${one},vic:viewer:${other}`)).toMatchObject({
      state: 'ok',
      found: '1 operator, 1 viewer',
    });
  });

  test('secrets that are missing, also where npm start has kept its own in this folder', async () => {
    const dataDir = mkdtempSync(join(folder, 'trial-'));
    writeFileSync(join(dataDir, 'key-pepper'), `1:${'q'.repeat(32)}\n`);
    writeFileSync(join(dataDir, 'gateway-token'), `${'q'.repeat(32)}\n`);
    const { isBad, of } = await examine({ DATA_DIR: dataDir, KEY_PEPPER: '', GATEWAY_TOKENS: '' });
    expect([isBad, of('pepper'), of('gateway tokens')]).toMatchObject([
      false,
      { state: 'warning', found: 'KEY_PEPPER is not set here' },
      { state: 'warning', found: 'GATEWAY_TOKENS is not set: the gateway will not start' },
    ]);
  });

  test('none in an OpenID provider that answers', async () => {
    const provider = await startOpenIdProvider('srs', () => 'http://127.0.0.1:1');
    provider.configure();
    const signIn = { OIDC_ISSUER: provider.issuer, OIDC_AUDIENCE: 'srs', GATEWAY_TOKENS: '' };
    const { isBad, of } = await examine(signIn);
    await provider.stop();
    expect(isBad).toBe(false);
    expect(of('openid provider')).toMatchObject({
      state: 'ok',
      found: `people sign in at ${provider.issuer}, with roles in the claim roles`,
    });
    expect(of('gateway tokens')).toMatchObject({
      state: 'ok',
      found: 'GATEWAY_TOKENS is not set: people sign in at OIDC_ISSUER',
    });
  });

  test('an OpenID provider that is not there, which takes the place of gateway tokens', async () => {
    const { isBad, of } = await examine({ OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_AUDIENCE: 'srs' });
    expect(isBad).toBe(true);
    expect(of('openid provider')).toMatchObject({
      state: 'bad',
      remedy: 'correct OIDC_ISSUER, or open the network path to the provider',
    });
  });

  test('a mail server that is not there, a sender without an address, links without https, half a pair of push keys', async () => {
    const { isBad, of, findings } = await examine({
      SMTP_URL: 'smtp://mia:secret-of-the-mail-server@127.0.0.1:1',
      ...REMINDING,
      MAIL_FROM: 'Reminders',
      PUBLIC_URL: 'http://127.0.0.1:80',
      VAPID_KEYS: 'p'.repeat(87),
    });
    expect(isBad).toBe(true);
    expect(JSON.stringify(findings)).not.toContain('mia');
    expect(of('mail server')).toMatchObject({
      state: 'bad',
      found: '127.0.0.1:1 does not answer as a mail server: ECONNREFUSED',
      remedy: expect.stringContaining('correct host, port and smtp or smtps in SMTP_URL'),
    });
    expect(of('mail sender')).toMatchObject({ state: 'bad', found: 'MAIL_FROM has no address' });
    expect(of('reminder links')).toMatchObject({
      state: 'warning',
      found: 'begin with http://127.0.0.1: learners cannot open them',
    });
    expect(of('push keys')).toMatchObject({ state: 'bad', found: 'VAPID_KEYS cannot be read' });
    expect(of('migrations reminders')).toMatchObject({ state: 'bad' });
    expect(of('database slots')?.found).toMatch(
      /connections are free; one process each of accounts, scheduling, reminders may open \d+ more$/,
    );
    expect(of('port REMINDERS_HTTP_PORT')).toMatchObject({ state: 'ok' });
  });

  test('reminders that do not answer the gateway, unless it is told to leave them out', async () => {
    const gateway = { REMINDERS_URL: '127.0.0.1:1' };
    const { isBad, of } = await examine(gateway);
    expect(isBad).toBe(true);
    expect(of('service reminders')).toEqual({
      check: 'service reminders',
      state: 'bad',
      found: expect.stringMatching(/^127\.0\.0\.1:1 does not answer: /),
      remedy: 'start it (npm run reminders), or correct REMINDERS_URL',
    });
    const without = await examine({ ...gateway, REMINDERS: 'off' });
    expect([without.isBad, without.of('service reminders')]).toEqual([false, undefined]);
  });

  test('none in reminders with a mail server that accepts us', async () => {
    const smtp = await startSmtpServer();
    const { of } = await examine({ ...REMINDING, SMTP_URL: smtp.smtpUrl, VAPID_KEYS: makeVapidKeys() });
    await smtp.stop();
    expect(of('mail server')).toMatchObject({ state: 'ok', found: expect.stringMatching(/ accepts us$/) });
    expect(smtp.received).toEqual([]);
    for (const check of ['mail sender', 'reminder links', 'push keys', 'port REMINDERS_PORT'])
      expect(of(check)).toMatchObject({ state: 'ok' });
  });

  test('a mail server whose certificate is nobody’s', async () => {
    const { GRPC_TLS_KEY, GRPC_TLS_CERT } = certificatesFor(1);
    const [key, cert] = [readFileSync(GRPC_TLS_KEY), readFileSync(GRPC_TLS_CERT)];
    const smtp = await startSmtpServer({ disabledCommands: [], key, cert });
    const { of } = await examine({ ...REMINDING, SMTP_URL: smtp.smtpUrl });
    await smtp.stop();
    expect(of('mail server')).toEqual({
      check: 'mail server',
      state: 'bad',
      found: `127.0.0.1:${smtp.port} has a certificate that is not accepted: UNABLE_TO_VERIFY_LEAF_SIGNATURE`,
      remedy:
        'correct the host in SMTP_URL, renew the certificate, name its authority in NODE_EXTRA_CA_CERTS, or, for a relay on this machine, append /?ignoreTLS=true',
    });
  });

  test('a mail server that refuses the login, and a sender who is at home on this machine', async () => {
    const smtp = await startSmtpServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _session, callback) => callback(smtpError(535, '5.7.8 mia is unknown')),
    });
    const { isBad, of, findings } = await examine({
      ...REMINDING,
      SMTP_URL: `smtp://mia:wrong-password@127.0.0.1:${smtp.port}`,
      MAIL_FROM: 'Reminders <reminders@localhost>',
    });
    await smtp.stop();
    expect([isBad, of('mail server'), of('mail sender')]).toEqual([
      true,
      {
        check: 'mail server',
        state: 'bad',
        found: `127.0.0.1:${smtp.port} refuses the login`,
        remedy: 'correct the user and the password in SMTP_URL',
      },
      {
        check: 'mail sender',
        state: 'warning',
        found: 'mails come from reminders@localhost',
        remedy: 'set MAIL_FROM to an address of a domain of yours',
      },
    ]);
    expect(JSON.stringify(findings)).not.toMatch(/mia|wrong-password/);
  });

  test.each<
    [what: string, code: number, text: string, at: 'onMailFrom' | 'onRcptTo', state: string, said: string]
  >([
    [
      'denies us the relay',
      554,
      '5.7.1 Relay access denied',
      'onRcptTo',
      'bad',
      'refused our message (554 5.7.1).',
    ],
    [
      'refuses the sender',
      553,
      '5.1.8 Sender rejected',
      'onMailFrom',
      'bad',
      'refused our message (553 5.1.8).',
    ],
    ['greylists', 451, '4.7.1 Come back later', 'onRcptTo', 'warning', 'refused for now (451 4.7.1).'],
    ['knows that nobody is at example.com', 550, '5.1.2 No such domain', 'onRcptTo', 'ok', ''],
  ])('of a mail server that %s', async (_what, code, text, at, state, said) => {
    const commands: string[] = [];
    const hear =
      (name: string) => (_address: unknown, _session: unknown, callback: (error?: Error) => void) => {
        commands.push(name);
        if (name === at) callback(smtpError(code, text));
        else callback();
      };
    const smtp = await startSmtpServer({
      allowInsecureAuth: true,
      onAuth({ username }, _session, callback) {
        commands.push('onAuth');
        callback(null, { user: username });
      },
      onMailFrom: hear('onMailFrom'),
      onRcptTo: hear('onRcptTo'),
    });
    const { of } = await examine({ ...REMINDING, SMTP_URL: `smtp://mia:secret@127.0.0.1:${smtp.port}` });
    await smtp.stop();
    const host = `127.0.0.1:${smtp.port}`;
    const refused = `${host} accepts us, but no mail from reminders@example.com: The mail server ${said}`;
    expect(of('mail server')).toMatchObject({ state, found: said === '' ? `${host} accepts us` : refused });
    expect(commands).toEqual(
      at === 'onMailFrom' ? ['onAuth', 'onMailFrom'] : ['onAuth', 'onMailFrom', 'onRcptTo'],
    );
    expect(smtp.received).toEqual([]);
  });

  test('push messages whose contact is an address at localhost, which Apple refuses', async () => {
    const { of } = await examine({ VAPID_KEYS: makeVapidKeys() });
    expect(of('push keys')).toMatchObject({
      state: 'warning',
      found: 'Apple refuses push messages whose contact is reminders@localhost',
      remedy: 'set MAIL_FROM to an address of a domain of yours',
    });
  });

  test('a wrong pepper, and one that living keys still need, but none that only revoked or expired keys had', async () => {
    const wrong = await examine({ KEY_PEPPER: `1:${'q'.repeat(32)}` });
    expect(wrong.isBad).toBe(true);
    expect(wrong.of('pepper 1')).toMatchObject({
      state: 'bad',
      found: expect.stringContaining('does not match the secret that this database has'),
      remedy: expect.stringContaining('restore the original secret in KEY_PEPPER'),
    });
    const clients = createAccountsClients({
      target: `127.0.0.1:${healthy.ACCOUNTS_PORT}`,
      trust: { serviceTokens: [TOKEN], tls: undefined },
    });
    const { user } = await clients.users.createUser({ email: 'a@example.com' }, { requestId: 't' });
    const { apiKey } = await clients.apiKeys.createApiKey({ userId: user?.userId ?? '' }, { requestId: 't' });
    const lost = await examine({ KEY_PEPPER: `2:${'q'.repeat(32)}` });
    expect([lost.of('pepper 1'), lost.of('pepper 2')]).toMatchObject([
      {
        state: 'bad',
        found: expect.stringContaining('1 valid key '),
        remedy: expect.stringContaining('add 1:SECRET'),
      },
      { state: 'warning', found: 'new to this database' },
    ]);
    await clients.apiKeys.revokeApiKey({ apiKeyId: apiKey?.apiKeyId ?? '' }, { requestId: 't' });
    const unneeded = await examine({ KEY_PEPPER: `2:${'q'.repeat(32)}` });
    expect(unneeded.of('pepper 1')).toBeUndefined();
    const other = await clients.apiKeys.createApiKey({ userId: user?.userId ?? '' }, { requestId: 't' });
    clients.close();
    const setEnd = async (interval: string) => {
      await ask(
        database.databaseUrl,
        'UPDATE accounts.api_keys SET expire_time = now() + $2::interval WHERE api_key_id = $1',
        [other.apiKey?.apiKeyId, interval],
      );
      return (await examine({ KEY_PEPPER: `2:${'q'.repeat(32)}` })).of('pepper 1');
    };
    expect(await setEnd('1 hour')).toMatchObject({ state: 'bad', found: expect.stringContaining('1 valid') });
    expect(await setEnd('-1 minute')).toBeUndefined();
  });

  test('a missing migration, Redis that is not there, a token that the services do not take', async () => {
    const migration = await undoMigration(database.databaseUrl, 'scheduling', '0002');
    const { isBad, of } = await examine({ REDIS_URL: 'redis://127.0.0.1:1', SERVICE_TOKEN: 'w'.repeat(32) });
    await migration.redo();
    expect(isBad).toBe(true);
    expect(of('migrations scheduling')).toEqual({
      check: 'migrations scheduling',
      state: 'bad',
      found: `not applied: ${migration.name}`,
      remedy: 'run npm run migrate, or start the service, which migrates first',
    });
    expect(of('redis')).toMatchObject({
      state: 'bad',
      found: expect.stringMatching(/^not reachable: .*ECONNREFUSED/),
      remedy: expect.stringMatching(/^start Redis/),
    });
    for (const name of ['accounts', 'scheduling']) {
      expect(of(`service ${name}`)).toMatchObject({
        state: 'bad',
        found: expect.stringContaining('refuses our SERVICE_TOKEN'),
        remedy: 'give all programs the same SERVICE_TOKEN',
      });
    }
  });

  test('a pending migration of accounts, until which a wrong pepper is not found', async () => {
    const { redo } = await undoMigration(database.databaseUrl, 'accounts', '0006');
    const { of } = await examine({ KEY_PEPPER: `1:${'q'.repeat(32)}` });
    await redo();
    expect([of('migrations accounts')?.state, of('pepper'), of('pepper 1')]).toEqual([
      'bad',
      {
        check: 'pepper',
        state: 'warning',
        found: 'not checked: migrations of accounts are pending',
        remedy: 'apply the migrations of accounts, then run this again',
      },
      undefined,
    ]);
  });

  test('a database that does not fold É, in an encoding that cannot hold it', async () => {
    const url = new URL(database.databaseUrl);
    const name = `${url.pathname.slice(1)}_c`;
    url.pathname = `/${name}`;
    const server = inject('postgresUrl');
    await ask(
      server,
      `CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C' ENCODING 'SQL_ASCII'`,
    );
    const { of } = await examine({ DATABASE_URL: url.href });
    await ask(server, `DROP DATABASE ${name}`);
    expect([of('database locale'), of('migrations accounts')]).toMatchObject([
      {
        state: 'bad',
        found: expect.stringMatching(/^encoding SQL_ASCII, and É does not match é/),
        remedy: expect.stringContaining("ENCODING 'UTF8' LOCALE 'C.UTF-8'"),
      },
      { state: 'bad', remedy: expect.stringContaining('npm run migrate') },
    ]);
  });

  test('a database that takes no writes, connections without our settings, a session that is nowhere', async () => {
    const other = await createTestDatabase();
    await ask(
      other.databaseUrl,
      `ALTER DATABASE ${new URL(other.databaseUrl).pathname.slice(1)} SET default_transaction_read_only = on`,
    );
    const { isBad, of } = await examine({
      // As behind a pooler, which hands on none of the settings that a connection asks for.
      DATABASE_URL: Object.assign(new URL(other.databaseUrl), {
        search: 'options=-c%20statement_timeout%3D9s',
      }).href,
      DATABASE_SESSION_URL: 'postgres://127.0.0.1:1/srs',
    });
    await other.drop();
    expect(isBad).toBe(true);
    expect(of('database')).toMatchObject({
      state: 'bad',
      found: expect.stringContaining('accepts no writes'),
      remedy: 'name the primary in DATABASE_URL, not a standby',
    });
    expect(of('database settings')).toMatchObject({
      state: 'bad',
      found: expect.stringContaining('(statement_timeout is 9s, lock_timeout is 0,'),
      remedy: expect.stringContaining("ALTER ROLE user SET statement_timeout = '1500ms';"),
    });
    expect(of('database session')).toMatchObject({
      state: 'bad',
      found: expect.stringMatching(/^DATABASE_SESSION_URL is not reachable: .*ECONNREFUSED/),
    });
  });

  test('a session that is with another database, as after a move of which only one URL was told', async () => {
    const other = await createTestDatabase();
    const { of } = await examine({ DATABASE_SESSION_URL: other.databaseUrl });
    await other.drop();
    expect(of('database session')).toEqual({
      check: 'database session',
      state: 'bad',
      found: 'DATABASE_SESSION_URL leads to another database than DATABASE_URL',
      remedy: 'set DATABASE_SESSION_URL to PostgreSQL itself, the database of DATABASE_URL',
    });
  });

  test('an authority of the database whose file is not there', async () => {
    const url = new URL(database.databaseUrl);
    url.search = 'sslmode=verify-full&sslrootcert=/nowhere/ca.pem';
    const { of } = await examine({ DATABASE_URL: url.href });
    expect([of('configuration'), of('database')]).toEqual([
      {
        check: 'configuration',
        state: 'bad',
        found: 'DATABASE_URL names a file that cannot be read, in sslrootcert: /nowhere/ca.pem',
        remedy: 'correct it where this program gets its environment; .env.example explains each variable',
      },
      {
        check: 'database',
        state: 'bad',
        found: "DATABASE_URL cannot be used: ENOENT: no such file or directory, open '/nowhere/ca.pem'",
        remedy:
          'write it as postgres://user:password@host:5432/name, with parameters as in docs/operations/database.md#tls',
      },
    ]);
  });

  test('a service that answers, and does not serve, or not as it should', async () => {
    const server = await startGrpcServer({
      domain: 'accounts.v1',
      services: [],
      host: '127.0.0.1',
      port: 0,
      trust: { serviceTokens: [TOKEN], tls: undefined },
      logger: createLogger('test', 'silent'),
    });
    const failing = await examine({ ACCOUNTS_URL: `127.0.0.1:${server.port}` });
    expect(failing.of('service accounts')).toEqual({
      check: 'service accounts',
      state: 'bad',
      found: `127.0.0.1:${server.port} serves, but answers a test call with INTERNAL_ERROR`,
      remedy: 'read the log of accounts',
    });
    server.setServing(false);
    const at = { ACCOUNTS_URL: `127.0.0.1:${server.port}`, ACCOUNTS_PORT: `${server.port}` };
    const { of } = await examine(at);
    await server.close(1000);
    expect(of('port ACCOUNTS_PORT')).toEqual({
      check: 'port ACCOUNTS_PORT',
      state: 'ok',
      found: `${server.port} is in use by this service, which is running`,
    });
    expect([of('service accounts'), of('service scheduling')?.state]).toEqual([
      {
        check: 'service accounts',
        state: 'bad',
        found: `127.0.0.1:${server.port} reports NOT_SERVING`,
        remedy: 'it is shutting down, or its database is unavailable',
      },
      'ok',
    ]);
  });

  test('no database, no services, a port that another program holds, and variables that cannot be read', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = `${typeof address === 'object' && address !== null ? address.port : 0}`;
    const { code, stdout } = await run(
      {
        ...healthy,
        DATABASE_URL: 'postgres://srs:secret-password@127.0.0.1:1/x',
        ACCOUNTS_URL: '127.0.0.1:1',
        REST_PORT: port,
        SHUTDOWN_TIMEOUT_MS: 'soon',
        GATEWAY_TOKENS: 'me:king:short',
        GATEWAY: 'offf',
      },
      '--json',
    );
    other.close();
    expect(code).toBe(1);
    expect(stdout).not.toMatch(/secret-password|king|short/);
    const findings: Finding[] = JSON.parse(stdout);
    const of = (check: string) => findings.find((finding) => finding.check === check);
    expect(of('database')).toMatchObject({
      state: 'bad',
      found: expect.stringContaining('ECONNREFUSED'),
      remedy: expect.stringMatching(/^start PostgreSQL/),
    });
    expect(of('service accounts')).toMatchObject({
      state: 'bad',
      found: '127.0.0.1:1 does not answer: connect ECONNREFUSED 127.0.0.1:1',
      remedy: 'start it (npm run accounts), or correct ACCOUNTS_URL',
    });
    expect(of('port REST_PORT')).toMatchObject({
      state: 'bad',
      found: `127.0.0.1:${port} is in use by another program`,
      remedy: expect.stringContaining('set REST_PORT to another port'),
    });
    const configuration = findings.filter(({ check }) => check === 'configuration').map(({ found }) => found);
    expect(configuration).toEqual([
      expect.stringContaining('SHUTDOWN_TIMEOUT_MS'),
      'GATEWAY must be one of on, off, not "offf"',
      expect.stringContaining('GATEWAY_TOKENS'),
    ]);
  });

  test('a certificate that has expired, one that soon will, and a key and a CA that are others’', async () => {
    const expired = await examine(certificatesFor(-1));
    expect([expired.of('tls certificate'), expired.of('tls chain')]).toMatchObject([
      {
        state: 'bad',
        found: expect.stringMatching(/^expired on \d{4}-/),
        remedy: expect.stringMatching(/^issue a new certificate/),
      },
      { state: 'ok' },
    ]);
    const { GRPC_TLS_CERT } = certificatesFor(10);
    const others = await examine({ ...certificatesFor(90), GRPC_TLS_CERT });
    expect(
      ['tls certificate', 'tls authority', 'tls chain', 'tls key'].map((check) => others.of(check)?.state),
    ).toEqual(['warning', 'warning', 'bad', 'bad']);
    expect(others.of('service accounts')).toMatchObject({
      state: 'bad',
      remedy: expect.stringContaining('tls'),
    });
    writeFileSync(GRPC_TLS_CERT, '');
    const empty = await examine({ ...certificatesFor(90), GRPC_TLS_CERT });
    expect(empty.of('tls')).toMatchObject({ state: 'bad', found: expect.stringContaining('GRPC_TLS_CERT') });
  });
});

test('services under mutual TLS are reached with certificates of their CA, and not without', async () => {
  const tls = certificatesFor(90);
  const { DATABASE_URL = '' } = healthy;
  const scheduling = await startService('scheduling', { ...tls, DATABASE_URL });
  programs.push(scheduling);
  const target = { SCHEDULING_URL: scheduling.target, SCHEDULING_PORT: '0' };
  const withTls = await examine({ ...tls, ...target });
  expect(
    ['service scheduling', 'tls certificate', 'tls chain', 'tls key'].map(
      (check) => withTls.of(check)?.state,
    ),
  ).toEqual(['ok', 'ok', 'ok', 'ok']);
  expect((await examine(target)).of('service scheduling')).toMatchObject({
    state: 'bad',
    found: expect.stringContaining('does not answer'),
  });
});

const certificates: Certificates[] = [];

/** The files of an authority and of a certificate that it has signed for so many days. */
function certificatesFor(days: number): Certificates['environment'] {
  const made = makeCertificates({ days });
  certificates.push(made);
  return made.environment;
}

test.each([
  ['8.0.1', 'ok'],
  ['7.0.15', 'ok'],
  ['6.2.14', 'warning'],
  ['4.0.9', 'bad'],
])('Redis %s is %s', async (version, state) => {
  const node = { place: '127.0.0.1:6379', info: new Map([['redis_version', version]]) };
  const findings = await runChecks(REDIS_CHECKS, node);
  expect(findings.find(({ check }) => check === 'redis version')).toMatchObject({
    state,
    found: `Redis ${version}`,
  });
});

describeWithRedis('npm run doctor and Redis', () => {
  test('tells the version, and finds one that forgets early or takes no writes', async () => {
    const redis = await startRedis({ password: 'redis-password' });
    const admin = new Redis(redis.url);
    try {
      const good = await examine({ REDIS_URL: redis.url });
      expect(good.findings.filter(({ state }) => state === 'bad')).toEqual([]);
      expect([good.of('redis'), good.of('redis version'), good.of('redis eviction')]).toMatchObject([
        { state: 'ok', found: `reachable at 127.0.0.1:${redis.port}` },
        { state: 'ok', found: expect.stringMatching(/^Redis \d/) },
        { state: 'ok', found: 'no memory limit' },
      ]);
      await admin.config('SET', 'maxmemory', '100mb');
      await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await admin.replicaof('127.0.0.1', 1);
      const full = await examine({ REDIS_URL: redis.url });
      expect([full.of('redis'), full.of('redis eviction')]).toMatchObject([
        { state: 'bad', found: expect.stringContaining('replica'), remedy: 'name the primary in REDIS_URL' },
        {
          state: 'warning',
          found: expect.stringMatching(/^allkeys-lru/),
          remedy: expect.stringContaining('noeviction'),
        },
      ]);
      expect(JSON.stringify(full.findings)).not.toContain('redis-password');
    } finally {
      admin.disconnect();
      await redis.stop();
    }
  });
});

describe('without DATABASE_URL', () => {
  const ports = { REST_PORT: '0', GRAPHQL_PORT: '0', ACCOUNTS_PORT: '0', SCHEDULING_PORT: '0' };

  test('looks at a program that calls the services, and says nothing of npm start', async () => {
    const { ACCOUNTS_PORT, SCHEDULING_PORT } = healthy;
    const addresses = {
      ACCOUNTS_URL: `127.0.0.1:${ACCOUNTS_PORT}`,
      SCHEDULING_URL: `127.0.0.1:${SCHEDULING_PORT}`,
    };
    const { code, stdout } = await run({ ...ports, ...addresses, HOST: '0.0.0.0', SERVICE_TOKEN: TOKEN });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^database +ok +DATABASE_URL is not set here/m);
    expect(stdout).toMatch(/^reminders +ok +off, or not configured here/m);
    expect(stdout).not.toContain('npm start');
  });

  test('warns of a stored secret that it cannot read, and looks at all else', async () => {
    const dataDir = mkdtempSync(join(folder, 'unreadable-'));
    // Which root cannot read either.
    mkdirSync(join(dataDir, 'gateway-token'));
    const shown = await table({ ...ports, DATA_DIR: dataDir });
    expect(shown).toMatch(
      /^configuration +warning +\S+\/gateway-token cannot be read \(EISDIR\)\n +-> run npm run doctor as the user who runs npm start\n/m,
    );
    expect(shown).toMatch(/^port REST_PORT +ok +0: any free port$/m);
  });

  test('looks at what npm start runs, and says so where it does not run', async () => {
    const dataDir = join(folder, 'data');
    const off = await table({ ...ports, DATA_DIR: dataDir });
    expect(off).toMatch(
      /^database +warning +npm start is not running: no server in .*\n +-> run npm start and check again/m,
    );
    expect(off).toMatch(/^0 bad, /m);
    const postgres = await startEmbeddedPostgres({ directory: join(dataDir, 'postgres'), durable: false });
    // Of two processes of scheduling, which together have more than one opens.
    const pools = Array.from(
      { length: 20 },
      () => new Client({ connectionString: postgres.databaseUrl, application_name: 'scheduling' }),
    );
    try {
      await Promise.all(pools.map((client) => client.connect()));
      const on = await table({ ...ports, DATA_DIR: dataDir });
      expect(on).toMatch(
        /^database slots +ok +76 of 97 connections are free; one process each of accounts, scheduling, reminders may open 32 more$/m,
      );
      expect(on).toMatch(/^database +ok +reachable at 127\.0\.0\.1:\d+\/spaced_repetition$/m);
      const password = new URL(postgres.databaseUrl).password;
      expect(on).not.toContain(password);
      // A role that may not look at the sessions of others counts them as well.
      await pools[0]?.query(`CREATE ROLE services LOGIN PASSWORD '${password}'`);
      const DATABASE_URL = postgres.databaseUrl.replace('//postgres:', '//services:');
      expect(await table({ ...ports, DATA_DIR: dataDir, DATABASE_URL })).toMatch(
        /^database slots +ok +76 of 97 connections are free; one process each of accounts, scheduling may open 16 more$/m,
      );
    } finally {
      await Promise.all(pools.map((client) => client.end()));
      await postgres.stop();
    }
    // Those that are kept for some are not free for the services.
    appendFileSync(join(dataDir, 'postgres/data/postgresql.conf'), '\nreserved_connections = 80\n');
    const again = await startEmbeddedPostgres({ directory: join(dataDir, 'postgres'), durable: false });
    try {
      expect(await table({ ...ports, DATA_DIR: dataDir })).toMatch(
        /^database slots +warning +16 of 17 connections are free; one process each of accounts, scheduling, reminders may open 48 more\n +-> raise max_connections, or /m,
      );
    } finally {
      await again.stop();
    }
  });
});

test('--help tells what it looks at, and an unknown word is refused with 2', async () => {
  expect((await run({}, '--help')).stdout).toContain('npm run doctor [-- --json --start]');
  expect(await run({}, '--loudly')).toMatchObject({ code: 2, stdout: '' });
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('npm run doctor');
});

const PEPPER = 'p'.repeat(32);
const TOKEN = 't'.repeat(32);
let folder: string;
let database: TestDatabase;
let programs: ServiceProcess[] = [];
/** Of a deployment in which nothing is wrong. */
let healthy: Record<string, string>;

async function startAll(): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), 'srs-doctor-'));
  chmodSync(folder, 0o755);
  database = await createTestDatabase();
  const common = { DATABASE_URL: database.databaseUrl, SERVICE_TOKEN: TOKEN };
  programs = await Promise.all([
    startService('accounts', { ...common, KEY_PEPPER: `1:${PEPPER}` }),
    startService('scheduling', common),
  ]);
  const portOf = (index: number) => `${programs[index]?.port}`;
  healthy = {
    ...common,
    DATA_DIR: join(folder, 'nothing'),
    KEY_PEPPER: `1:${PEPPER}`,
    GATEWAY_TOKENS: `olga:operator:${'g'.repeat(32)}`,
    ACCOUNTS_PORT: portOf(0),
    SCHEDULING_PORT: portOf(1),
    REST_PORT: '0',
    GRAPHQL_PORT: '0',
    OPS_PORT: '0',
  };
}

async function stopAll(): Promise<void> {
  await Promise.all(programs.map((program) => program.stop()));
  await database.drop();
  for (const { remove } of certificates) remove();
  rmSync(folder, { recursive: true, force: true });
}

async function examine(changes: Environment, isStart?: boolean) {
  const findings: Finding[] = await examineDeployment({ ...healthy, ...changes }, isStart);
  const text = JSON.stringify(findings);
  for (const secret of [PEPPER, TOKEN, 'g'.repeat(32), ...Object.values(changes)]) {
    if (/^.{20,}$/.test(secret ?? '') && !/^(redis|postgres|http):|^\//.test(secret ?? ''))
      expect(text).not.toContain(secret);
  }
  // Whatever is not ok says how to remedy it; what is ok does not.
  for (const { state, remedy } of findings) expect(remedy !== undefined).toBe(state !== 'ok');
  const isBad = findings.some(({ state }) => state === 'bad');
  return { isBad, findings, of: (check: string) => findings.find((finding) => finding.check === check) };
}

type Finding = { check: string; state: string; found: string; remedy?: string };

/** The table that the program would print. */
const table = async (environment: Environment) => showFindings(await examineDeployment(environment));

/** The program in a process of its own. */
const run = (environment: Environment, ...args: string[]) =>
  promisify(execFile)(process.execPath, [...argumentsOf('doctor'), ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...environment },
  }).then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
