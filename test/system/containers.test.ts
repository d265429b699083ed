// Runs the commands of docs/operations/containers.md in order, in real containers. Skipped without Docker; the run says so.
import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../services/platform/process/free-port.ts';
import { startLoad } from '../faults/support/load.ts';
import { root } from '../support/processes.ts';

const COPIED = [
  ...['Dockerfile', '.dockerignore', 'docker-compose.yml', 'deploy', 'package.json', 'package-lock.json'],
  ...['proto', 'services', 'gateway'],
];
const MINUTES = 60_000;

/** The shell commands of a page, in order. */
const commandsOf = (page: string) =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) =>
    block.replaceAll('\\\n', '').replaceAll(/ +/g, ' ').trim().split('\n'),
  );
const commands = commandsOf('docs/operations/containers.md');

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

test('the README shows the first commands of the page', () => {
  expect(commandsOf('README.md')).toEqual(expect.arrayContaining(commands.slice(0, 3)));
});

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
    await run('docker-compose down -v --remove-orphans');
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
    await run('docker-compose kill -s USR2 proxy');
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
      // The proxy, PostgreSQL, Redis and the job stay.
      expect(after.split('\n').filter((id) => before.split('\n').includes(id) && id !== '')).toHaveLength(4);
    },
    10 * MINUTES,
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
