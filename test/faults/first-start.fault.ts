// Two first starts on one new folder: the secrets on disk are those in use, whoever wins.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pepperCheckValue } from '../../services/accounts/keys/rules.ts';
import { runningUrl } from '../../services/programs/program-database.ts';
import { createPlace, query } from '../platform/fixtures/postgres-owner.ts';
import { createStartPlace, type Started, type StartPlace } from '../support/npm-start.ts';

let place: StartPlace;

beforeEach(() => {
  place = createStartPlace();
});
afterEach(() => place.clear());

test('of two at one moment one wins, the other names it, and the pepper on disk is the one in use', async () => {
  for (let round = 1; round <= 2; round += 1) {
    const dataDir = join(place.folder, `data-${round}`);
    const outcomes = await Promise.all(
      [1, 2].map(() =>
        place.start({ DATA_DIR: dataDir, GATEWAY: 'off' }).catch((error: Error) => error.message),
      ),
    );
    const [winner] = outcomes.filter((outcome): outcome is Started => typeof outcome !== 'string');
    const [said] = outcomes.filter((outcome) => typeof outcome === 'string');
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

test('makes no secret in a folder whose database another process owns', async () => {
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

test("a secret that two processes make at one moment is one, whole, and its owner's alone, 300 times", async () => {
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
