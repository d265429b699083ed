// Promises: kill -9 of npm start, or of the PostgreSQL in it, costs nothing but the time until it is back; two first starts on one
// folder keep one secret.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pepperCheckValue } from '../../services/accounts/keys/rules.ts';
import { freePort } from '../../services/platform/process/ports.ts';
import { runningUrl } from '../../services/programs/program-database.ts';
import { createPlace, query } from '../platform/fixtures/postgres-owner.ts';
import { createApi } from '../support/api.ts';
import { holdServerStart } from '../support/held-server.ts';
import { createStartPlace, type Started, type StartPlace } from '../support/npm-start.ts';
import { startProcess } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';
import { recordFigure } from './support/figures.ts';
import { type Outcome, startLoad } from './support/load.ts';
import { sized } from './support/rounds.ts';

beforeEach(prepareEach);
afterEach(() => place.clear());

test('npm start is up again soon after kill -9, with the same data, time after time', async () => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const env = { ...place.environment, REST_PORT: `${port}`, WRITE_LIMIT_PER_MINUTE: '10000' };
  const start = async () => {
    // Without npm: kill -9 hits the process alone, and its PostgreSQL goes on.
    const started = startProcess(process.execPath, argumentsOf('start'), { env });
    const answers = () =>
      fetch(`${origin}/v1/me`).then(
        ({ status }) => status === 401,
        () => false,
      );
    while (!(await answers())) {
      if (!started.isRunning()) throw new Error(`npm start ended by itself: ${started.output()}`);
      await sleep(20);
    }
    return started;
  };
  let running = await start();
  const api = createApi(`${origin}/v1`, await running.says((said) => /rmk_live_\w{49}/.exec(said)?.[0]));
  const rounds = sized(20);
  const durations: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    await api.create({ title: `Round ${round}` });
    await running.end('SIGKILL');
    const began = performance.now();
    running = await start();
    durations.push(performance.now() - began);
    const { body } = await api.get('/materials?limit=100');
    const titles = (body as { materials: { title: string }[] }).materials.map(({ title }) => title);
    expect(titles).toEqual(Array.from({ length: round }, (_, index) => `Round ${round - index}`));
  }
  await running.end();
  recordFigure({
    promise: 'kill -9 of npm start: time until it runs again',
    measured: Math.max(...durations),
    bar: 5000,
    unit: 'ms',
    over: `${rounds} times`,
  });
});

describe('kill -9 of the embedded PostgreSQL', () => {
  const CLIENTS = 8;
  const KILLS = 5;
  const killServer = () => {
    const [pid] = readFileSync(join(directory, 'data/postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(pid), 'SIGKILL');
  };

  test('makes requests 503 and the process not ready until it is back', async () => {
    const started = await place.start({ OPS_PORT: '0', GATEWAY: 'off' });
    const api = createApi(started.base, started.key, { mayBeUnavailable: true });
    await api.create({ title: 'Kept' });
    const isReady = async () => (await fetch(started.ready)).status === 200;
    expect(await isReady()).toBe(true);
    const open = holdServerStart(join(directory, 'data'));
    killServer();
    for (const path of ['/materials', '/me'])
      await expect.poll(async () => (await api.get(path)).status).toBe(503);
    await expect.poll(async () => (await api.post('/materials', { title: 'Lost' })).status).toBe(503);
    await expect.poll(isReady).toBe(false);
    open();
    await expect.poll(isReady, { timeout: 30_000 }).toBe(true);
    const { status, body } = await api.get('/materials');
    expect([status, body]).toMatchObject([200, { materials: [{ title: 'Kept' }] }]);
    expect(await started.end('SIGTERM')).toBe(0);
  });

  test(`loses nothing under ${CLIENTS} clients, ${KILLS} times; the next ends npm start with the reason`, async () => {
    const started = await place.start({ GATEWAY: 'off', WRITE_LIMIT_PER_MINUTE: '100000' });
    const { key } = started;
    const acknowledged: string[] = [];
    let made = 0;
    const load = startLoad({
      origins: [started.base.replace('/v1', '')],
      workers: CLIENTS,
      pauseMs: 10,
      next: () =>
        made++ % 2 === 0
          ? { method: 'GET', path: '/materials?limit=1', key }
          : { method: 'POST', path: '/materials', key, json: { title: `Note ${made}` } },
      isExpected: ({ status, retryAfter }) =>
        status === 200 || status === 201 || (status === 503 && retryAfter !== undefined),
      onOutcome: ({ status, text }: Outcome) => {
        if (status === 201) acknowledged.push(JSON.parse(text).material.id);
      },
    });
    const durations: number[] = [];
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const before = acknowledged.length;
      killServer();
      const began = performance.now();
      await expect
        .poll(() => acknowledged.length, { timeout: 240_000, interval: 5 })
        .toBeGreaterThan(before + CLIENTS);
      durations.push(performance.now() - began);
    }
    expect(await load.stop()).toEqual([]);
    const stored = await query<{ id: string }>(
      runningUrl(directory) ?? '',
      'SELECT material_id AS id FROM scheduling.materials',
    );
    const ids = new Set(stored.map(({ id }) => id));
    expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
    killServer();
    expect(await started.ended).toBe(1);
    expect(started.output()).toMatch(/keeps failing \(restarted 5 times\): it ended by signal SIGKILL/);
    recordFigure({
      promise: 'kill -9 of the embedded PostgreSQL: time until writes succeed',
      measured: Math.max(...durations),
      bar: 5000,
      unit: 'ms',
      over: `${KILLS} times, ${CLIENTS} clients, ${acknowledged.length} acknowledged writes`,
    });
  });
});

describe('two first starts on one folder', () => {
  test('at one moment: one wins, the other names it, and the pepper on disk is the one in use', async () => {
    for (let round = 1; round <= sized(2); round += 1) {
      const dataDir = join(place.folder, `data-${round}`);
      const start = () => place.start({ DATA_DIR: dataDir, GATEWAY: 'off' });
      const outcomes = await Promise.all([1, 2].map(() => start().catch((error: Error) => error.message)));
      const [winner] = outcomes.filter((outcome): outcome is Started => typeof outcome !== 'string');
      const [said, more] = outcomes.filter((outcome) => typeof outcome === 'string');
      expect(more).toBeUndefined();
      expect(said).toMatch(
        /^Could not start: \S+\/postgres is in use by (process \d+|another running process): stop it, or choose another DATA_DIR\n$/,
      );
      const [version = '', secret = ''] = readFileSync(join(dataDir, 'key-pepper'), 'utf8').trim().split(':');
      const stored = await query<{ check_value: Buffer }>(
        runningUrl(join(dataDir, 'postgres')) ?? '',
        'SELECT check_value FROM accounts.pepper_checks',
      );
      expect(stored.map(({ check_value }) => check_value)).toEqual([pepperCheckValue({ version, secret })]);
      expect(readdirSync(dataDir).sort()).toEqual(['key-pepper', 'postgres']);
      await winner?.end('SIGTERM');
    }
  });

  test('make no secret where another process owns the database', async () => {
    const others = createPlace();
    const owned = join(others.folder, 'postgres');
    try {
      await others.own(owned).when('ready');
      await expect(place.start({ DATA_DIR: others.folder })).rejects.toThrow(/is in use by/);
      expect(readdirSync(others.folder)).toEqual(['postgres']);
    } finally {
      await others.clear();
    }
  });

  test("make one secret, whole, and its owner's alone, 300 times", async () => {
    const makers = [1, 2].map(() => spawnMaker());
    try {
      for (let round = 1; round <= 300; round += 1) {
        const file = join(place.folder, 'new', `${round}`);
        const [first, second] = await Promise.all(makers.map(({ make }) => make(file)));
        expect(first).toMatch(/^[0-9a-f]{64}$/);
        expect(second).toBe(first);
        expect(readFileSync(file, 'utf8')).toBe(`${first}\n`);
        expect(statSync(file).mode & 0o777).toBe(0o600);
      }
      expect(readdirSync(join(place.folder, 'new'))).toHaveLength(300);
    } finally {
      for (const { child } of makers) child.kill();
    }
  });
});

let place: StartPlace;
let directory: string;

function prepareEach(): void {
  place = createStartPlace();
  directory = join(place.dataDir, 'postgres');
}

/** A process that makes a secret of its own for each file it is told, and says which one it has then. */
function spawnMaker(): { child: ChildProcess; make(file: string): Promise<string> } {
  const module = join(import.meta.dirname, '../../services/programs/start/settings.ts');
  const program = `
    import { randomBytes } from 'node:crypto';
    import { createInterface } from 'node:readline';
    import { keepSecret } from ${JSON.stringify(module)};
    createInterface({ input: process.stdin }).on('line', (file) =>
      console.log(keepSecret(file, () => randomBytes(32).toString('hex'))));`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  return {
    child,
    async make(file) {
      const answered = once(lines, 'line');
      child.stdin.write(`${file}\n`);
      return (await answered)[0];
    },
  };
}
