// Runs the commands of docs/operations/deploy.md in order, in real containers. Skipped without Docker; the run says so.
import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../services/platform/process/ports.ts';
import { createClient, startLoad } from '../faults/support/load.ts';
import { type Certificates, makeCertificates } from '../support/certificates.ts';
import { root } from '../support/processes.ts';

test('the README shows the first commands of the page', () => {
  expect(commandsOf(readFileSync(join(root, 'README.md'), 'utf8'))).toEqual(
    expect.arrayContaining(commands.slice(0, 3)),
  );
});

const MINUTES = 60_000;

describe.runIf(hasDocker())('the page of containers', () => {
  let folder: string;
  let environment: NodeJS.ProcessEnv;
  let origin: string;
  let key: string;

  const run = async (command: string) => {
    const options = { cwd: folder, env: environment, maxBuffer: 1e8 };
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', command], options);
    return stdout;
  };
  /** Runs the commands of the page that have not run yet, up to the one that begins with `last`. */
  let next = 0;
  const runUpTo = async (last: string) => {
    let output = '';
    while (!output.endsWith('\0')) {
      const command = commands[next];
      if (command === undefined) throw new Error(`the page has no command that begins with ${last}`);
      next += 1;
      output += await run(command);
      if (command.startsWith(last)) output += '\0';
    }
    return output;
  };
  /** Runs a command that the page names within its text. */
  const runFromPage = (command: string, more = '') => {
    expect(page).toContain(`\`${command}\``);
    return run(`${command} ${more}`);
  };
  const doctor = 'node services/programs/doctor/main.ts';
  const statusOf = async (path: string, init: RequestInit = {}) =>
    (
      await fetch(`${origin}/v1${path}`, {
        ...init,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      })
    ).status;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'srs-containers-'));
    for (const name of COPIED) cpSync(join(root, name), join(folder, name), { recursive: true });
    const [rest, graphql, reminders] = [await freePort(), await freePort(), await freePort()];
    origin = `http://127.0.0.1:${rest}`;
    environment = {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      COMPOSE_PROJECT_NAME: `srs-${randomBytes(4).toString('hex')}`,
      REST_PUBLISH: `127.0.0.1:${rest}`,
      GRAPHQL_PUBLISH: `127.0.0.1:${graphql}`,
      REMINDERS_PUBLISH: `127.0.0.1:${reminders}`,
      WRITE_LIMIT_PER_MINUTE: '100000',
    };
  });
  afterAll(async () => {
    await run(`docker rm -f ${environment.COMPOSE_PROJECT_NAME}-mail || true`);
    await runFromPage('docker-compose --profile gateway --profile reminders --profile backup down', '-v');
    rmSync(folder, { recursive: true });
  }, 2 * MINUTES);

  test(
    'starts the whole system, and its key can write',
    async () => {
      const said = await runUpTo('docker-compose exec -T accounts node services/programs/keys');
      key = /rmk_live_\w+/.exec(said)?.[0] ?? '';
      await expect.poll(() => statusOf('/me')).toBe(200);
      expect(await statusOf('/materials', { method: 'POST', body: '{"title":"T"}' })).toBe(201);
      // Of the health checks since the start.
      expect(await run('docker-compose logs accounts scheduling rest')).not.toMatch(/"status":(401|"UNAUTH)/);
      expect(statSync(join(folder, 'secrets')).mode & 0o777).toBe(0o700);
    },
    10 * MINUTES,
  );

  test(
    'finds nothing bad by doctor in any service',
    async () => {
      const said = await runUpTo('docker-compose exec -T rest node services/programs/doctor');
      expect(said.match(/^0 bad, /gm)).toHaveLength(3);
    },
    MINUTES,
  );

  test('has no secret in an environment or a command', async () => {
    const environments = await run(
      "docker inspect --format '{{json .Config.Env}} {{json .Config.Cmd}}' $(docker-compose ps -q)",
    );
    const secrets = (await run('cat secrets/*')).match(/[0-9a-f]{64}/g) ?? [];
    expect(secrets.length).toBeGreaterThan(6);
    for (const secret of secrets) expect(environments.includes(secret)).toBe(false);
  });

  test(
    'replaces nothing if the migration fails, and says why',
    async () => {
      const file = join(folder, 'secrets/owner_database_url');
      const url = readFileSync(file, 'utf8');
      const before = await run('docker-compose ps -q');
      writeFileSync(file, url.replace('srs:', 'nobody:'));
      const message = /password authentication failed for user "nobody"[\s\S]*nothing is replaced\.\n$/;
      await expect(run('deploy/rolling-restart')).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringMatching(message),
      });
      writeFileSync(file, url);
      expect(await run('docker-compose ps -q')).toBe(before);
    },
    5 * MINUTES,
  );

  test('takes a new haproxy.cfg at the signal, also one that git has put in the place of the old one', async () => {
    const file = join(folder, 'deploy/haproxy/haproxy.cfg');
    const mark = '\nfrontend rest\n  http-response set-header X-Configuration new\n';
    writeFileSync(`${file}.new`, readFileSync(file, 'utf8').replace('\nfrontend rest\n', mark));
    renameSync(`${file}.new`, file);
    await runFromPage("docker-compose exec -T proxy sh -c 'kill -USR2 1'");
    const header = async () => (await fetch(`${origin}/v1/me`)).headers.get('x-configuration');
    await expect.poll(header).toBe('new');
  });

  test('leaves no volume behind but that of PostgreSQL', async () => {
    const mounts = await run(
      "docker inspect --format '{{range .Mounts}}{{.Type}} {{.Destination}},{{end}}' $(docker-compose ps -q)",
    );
    expect(mounts.match(/volume [^,]+/g)).toEqual(['volume /var/lib/postgresql/data']);
  });

  test(
    'restarts two of each service in turn under load, and no request fails',
    async () => {
      await runUpTo('docker-compose up -d --scale');
      let turn = 0;
      const load = startLoad({
        origins: [origin],
        workers: 10,
        pauseMs: 50,
        next: () => {
          turn += 1;
          if (turn % 4 === 0)
            return { method: 'POST', path: '/materials', key, json: { title: `T ${turn}` } };
          return { method: 'GET', path: turn % 2 === 0 ? '/me' : '/reviews/due', key };
        },
      });
      const before = await run('docker-compose ps -q');
      const said = await runUpTo('deploy/rolling-restart').finally(load.stop);
      expect(said.match(/has replaced/g)).toHaveLength(6);
      expect(await load.stop()).toEqual([]);
      expect(load.answered()).toBeGreaterThan(1000);
      process.stderr.write(`${load.answered()} requests during the rolling restart, none failed\n`);
      const after = await run('docker-compose ps -q');
      // The proxy, PostgreSQL, Redis and the two jobs stay.
      expect(after.split('\n').filter((id) => before.split('\n').includes(id) && id !== '')).toHaveLength(5);
      // What the page says of docker-compose 1.29, which Compose 2 takes as well.
      const [, index] = /^accounts: \S+?(\d+) has replaced \S+$/m.exec(said) ?? [];
      expect(await run(`docker-compose exec -T --index=${index} accounts ${doctor}`)).toMatch(/^0 bad, /m);
    },
    10 * MINUTES,
  );

  test(
    'sends reminders by mail, made at the gateway, whose ports answer 503 before, and doctor finds nothing bad',
    async () => {
      const [graphql, links] = [environment.GRAPHQL_PUBLISH, environment.REMINDERS_PUBLISH];
      for (const address of [graphql, links]) expect((await fetch(`http://${address}`)).status).toBe(503);
      const project = environment.COMPOSE_PROJECT_NAME;
      await run(
        `docker run -d --name ${project}-mail --network ${project}_default --network-alias mail \
           -v ${join(root, 'node_modules')}:/mail/node_modules:ro \
           -v ${join(root, 'test/faults/support/smtp-sink.ts')}:/mail/smtp-sink.ts:ro \
           spaced-repetition-service node /mail/smtp-sink.ts /tmp/taken 2525 0 0.0.0.0`,
      );
      writeFileSync(join(folder, 'secrets/smtp_url'), 'smtp://mail:2525\n');
      appendFileSync(
        join(folder, '.env'),
        'REMINDERS=on\nMAIL_FROM=Reminders <reminders@example.com>\nPUBLIC_URL=https://example.com\n',
      );
      await runFromPage('docker-compose up -d --no-deps gateway reminders');
      const health = () =>
        run("docker inspect -f '{{.State.Health.Status}}' $(docker-compose ps -q gateway reminders)");
      await expect.poll(health, { timeout: MINUTES }).toBe('healthy\nhealthy\n');
      for (const name of ['gateway', 'reminders']) {
        const said = await run(`docker-compose exec -T ${name} ${doctor}`);
        expect(said).toMatch(/^0 bad, /m);
        expect(said).not.toContain('npm start');
      }

      const token = readFileSync(join(folder, 'secrets/gateway_tokens'), 'utf8').trim().split(':').at(-1);
      const ask = async (query: string) => {
        const response = await fetch(`http://${graphql}/graphql`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ query }),
        });
        return JSON.parse(await response.text());
      };
      const { data } = await ask('{ user(email: "ada@example.com") { id } }');
      const time = new Date(Date.now() + MINUTES).toISOString().slice(11, 16);
      const input = `{ userId: "${data.user.id}", time: "${time}", channels: [EMAIL] }`;
      const made = await ask(`mutation { createReminder(input: ${input}) { reminder { time } } }`);
      expect(made).toEqual({ data: { createReminder: { reminder: { time } } } });
      // Up to two minutes until its turn, spread within the minute.
      const taken = () => run(`docker exec ${project}-mail sh -c 'cat /tmp/taken 2>/dev/null || true'`);
      await expect
        .poll(taken, { timeout: 3 * MINUTES, interval: 500 })
        .toMatch(/^\S+ ada@example\.com \d+\n$/);
      expect((await fetch(`http://${links}/calendar/none.ics`)).status).toBe(404);
    },
    8 * MINUTES,
  );

  test(
    'backs up and restores what it has dumped, or says which versions do not fit, and when it tries again',
    async () => {
      const command = 'docker-compose up -d --no-deps backup';
      expect(readFileSync(join(root, 'docs/operations/backup.md'), 'utf8')).toContain(command);
      await run(command);
      const said = () => run('docker-compose logs --no-color backup');
      const version = (text: string) => Number(/\d+/.exec(text)?.[0]);
      const ours = version(await run('docker-compose exec -T backup pg_dump --version'));
      const theirs = version(
        await run(
          'docker-compose exec -T postgres psql -U srs -d spaced_repetition -Atc "SHOW server_version"',
        ),
      );
      const outcome =
        ours < theirs
          ? /server version mismatch[\s\S]*The backup failed; the next try follows in 60 s\./
          : /\.dump: \d+ bytes, restored without an error/;
      await expect.poll(said, { timeout: MINUTES }).toMatch(outcome);
      // They are root's, which may not be this account.
      await run("docker-compose exec -T backup bash -c 'rm -f /backups/*'");
    },
    3 * MINUTES,
  );

  test(
    'speaks HTTPS alone with TLS_CERTIFICATE, without a failed request while rest is replaced, and takes a new certificate',
    async () => {
      const [first, second] = [makeCertificates(), makeCertificates()];
      const install = ({ environment: files }: Certificates) => {
        const parts = [files.GRPC_TLS_CERT, files.GRPC_TLS_CA, files.GRPC_TLS_KEY];
        writeFileSync(join(folder, 'tls.pem'), parts.map((file) => readFileSync(file, 'utf8')).join(''));
      };
      const authority = ({ environment: files }: Certificates) => readFileSync(files.GRPC_TLS_CA, 'utf8');
      const answer = async (certificates: Certificates) => {
        const client = createClient([secure], 0, authority(certificates));
        const { status } = await client.send({ method: 'GET', path: '/me', key });
        client.close();
        return status;
      };
      const secure = origin.replace('http:', 'https:');
      install(first);
      appendFileSync(join(folder, '.env'), 'TLS_CERTIFICATE=./tls.pem\n');
      await runFromPage('docker-compose up -d --no-deps proxy');
      await expect.poll(() => answer(first), { timeout: MINUTES }).toBe(200);
      await expect(fetch(`${origin}/v1/me`)).rejects.toThrow();

      // As a restart leaves one that is broken off while it ends it.
      const [ended = ''] = (await run('docker-compose ps -q rest')).split('\n');
      await run(`docker stop ${ended}`);

      const load = startLoad({
        origins: [secure],
        ca: authority(first),
        workers: 10,
        pauseMs: 50,
        next: () => ({ method: 'GET', path: '/me', key }),
      });
      const said = await run('deploy/rolling-restart rest').finally(load.stop);
      expect(said.match(/has replaced/g)).toHaveLength(1);
      expect(await run('docker ps -aq --no-trunc')).not.toContain(ended);
      expect(await load.stop()).toEqual([]);
      expect(load.answered()).toBeGreaterThan(500);
      process.stderr.write(`${load.answered()} requests over TLS during the rolling restart, none failed\n`);

      install(second);
      await runFromPage("docker-compose exec -T proxy sh -c 'kill -USR2 1'");
      await expect.poll(() => answer(second)).toBe(200);
      expect(await answer(first)).toBe(0);
      for (const { remove } of [first, second]) remove();
      // For what follows.
      await run('sed -i /TLS_CERTIFICATE/d .env');
    },
    5 * MINUTES,
  );

  test(
    'lets one rest have the port itself, without HAProxy',
    async () => {
      await runUpTo('docker-compose -f docker-compose.yml -f deploy/without-proxy.yml');
      expect(await run('docker-compose ps -q proxy')).toBe('');
      const status = () => statusOf('/me').catch(() => 'no answer');
      await expect.poll(status, { timeout: MINUTES }).toBe(200);
      expect(next).toBe(commands.length);
    },
    3 * MINUTES,
  );
});

const page = readFileSync(join(root, 'docs/operations/deploy.md'), 'utf8');
/** The shell commands of a page, in order. */
const commandsOf = (text: string) =>
  [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) =>
    block.replaceAll('\\\n', '').replaceAll(/ +/g, ' ').trim().split('\n'),
  );
const commands = commandsOf(page);

function hasDocker(): boolean {
  try {
    execFileSync('docker', ['info'], { stdio: 'ignore' });
    execFileSync('docker-compose', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write(
      'The test of the containers is skipped: no Docker runs here, or docker-compose is missing.\n',
    );
    return false;
  }
}

const COPIED = [
  'Dockerfile',
  '.dockerignore',
  'docker-compose.yml',
  'deploy',
  'package.json',
  'package-lock.json',
  'proto',
  'services',
  'gateway',
];
