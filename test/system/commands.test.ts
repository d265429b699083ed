// The command line of every program: --help explains it and starts nothing, and an unknown argument is refused.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root, startProcess } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';

beforeAll(askAll);
afterAll(() => rmSync(folder, { recursive: true }));

const { scripts }: { scripts: Record<string, string> } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);

/** Those that run a program of another project, which has a --help of its own, or several programs. */
const OTHERS = ['test', 'test:system', 'test:pages', 'faults', 'prepare', 'generate', 'format', 'check'];

const ours = Object.keys(scripts).filter((name) => !OTHERS.includes(name));

test.each(ours)(
  '%s explains itself with --help, in the common layout, and refuses an unknown argument',
  (name) => {
    const [explained, short, refused] = QUESTIONS.map((question) => answers.get(`${name} ${question}`));
    const { stdout = '' } = explained ?? {};
    expect(explained).toEqual({ code: 0, stdout, output: stdout });
    expect(short).toEqual(explained);
    const call = name === 'start' ? 'npm start' : `npm run ${name}`;
    expect(stdout).toMatch(new RegExp(`^[A-Z][^\n]*\\.(\n[^\n]+)*\n\n {2}${call}\\b`));
    expect(stdout).toMatch(/\.\n$/);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(130);
    const prefix = CODED.includes(name) ? 'invalid_request: ' : '';
    expect(refused).toEqual({
      code: ['verify', 'doctor', 'soak'].includes(name) ? 2 : 1,
      stdout: '',
      output: `${prefix}Unknown option '--colour'. See "${call} -- --help".\n`,
    });
  },
);

test('a program with commands refuses an unknown one, and an option of another one', () => {
  const refusals = COMMANDS.map((call) => answers.get(call));
  const refusal = (text: string) => ({
    code: 1,
    stdout: '',
    output: `invalid_request: ${text} See "npm run keys -- --help".\n`,
  });
  expect(refusals).toEqual([
    refusal('There is no command "dance".'),
    refusal('"rotate" takes no --name.'),
    refusal('"list" takes no --scopes.'),
    refusal('"revoke" takes no --email.'),
  ]);
});

test('none of them makes its folder of data', () => {
  expect(existsSync(join(folder, 'data'))).toBe(false);
});

test.each([
  ['backup', 'Unexpected argument "gatewy".'],
  ['make-secrets', 'Unexpected argument "gatewy".'],
  ['rolling-restart', 'There is no service "gatewy".'],
])(
  'deploy/%s explains itself with --help, and refuses an argument that it does not know',
  async (name, refusal) => {
    const copy = copyOfDeploy(name);
    const call = async (argument: string) => {
      const program = startProcess(`deploy/${name}`, [argument], { cwd: copy });
      return [await program.ended, program.output()];
    };
    expect(await call('--help')).toEqual([
      0,
      expect.stringMatching(new RegExp(`^[A-Z][^\n]*[\\s\\S]*\n\n {2}deploy/${name}\\b`)),
    ]);
    expect(await call('gatewy')).toEqual([1, `${refusal} See "deploy/${name} --help".\n`]);
    expect(existsSync(join(copy, 'secrets'))).toBe(false);
  },
);

test('deploy/make-secrets encodes the passwords of the environment in URLs', async () => {
  const copy = copyOfDeploy('with-passwords');
  const env = { POSTGRES_PASSWORD: 'p@ss/50%é', REDIS_PASSWORD: 'a#b:c' };
  const program = startProcess('deploy/make-secrets', [], { cwd: copy, env });
  expect(await program.ended).toBe(0);
  const read = (name: string) => readFileSync(join(copy, 'secrets', name), 'utf8').trim();
  expect(read('postgres_password')).toBe(env.POSTGRES_PASSWORD);
  for (const [name, host, password] of [
    ['owner_database_url', 'postgres:5432', env.POSTGRES_PASSWORD],
    ['redis_url', 'redis:6379', env.REDIS_PASSWORD],
  ] as const) {
    const url = new URL(read(name));
    expect([url.host, decodeURIComponent(url.password)]).toEqual([host, password]);
  }
});

test('deploy/make-secrets needs no openssl, and keeps the secrets that are there', async () => {
  const copy = copyOfDeploy('without-openssl');
  const bin = join(copy, 'bin');
  mkdirSync(bin);
  for (const tool of ['bash', 'cat', 'chmod', 'dirname', 'mkdir', 'mv', 'od', 'tr'])
    symlinkSync(`/usr/bin/${tool}`, join(bin, tool));
  const make = async () => {
    const program = startProcess('deploy/make-secrets', [], { cwd: copy, env: { PATH: bin } });
    expect(await program.ended).toBe(0);
    return readFileSync(join(copy, 'secrets/key_pepper'), 'utf8');
  };
  const made = await make();
  expect(made).toMatch(/^1:[0-9a-f]{64}\n$/);
  expect(await make()).toBe(made);
});

test('deploy/make-secrets leaves no empty secret where the disk is full, and keeps one that was emptied', async () => {
  const copy = copyOfDeploy('on-a-full-disk');
  const run = (command: string) => startProcess('bash', ['-c', command], { cwd: copy }).ended;
  const read = (name: string) => readFileSync(join(copy, 'secrets', name), 'utf8');
  expect(await run('trap "" XFSZ; ulimit -f 0; exec deploy/make-secrets')).not.toBe(0);
  expect(existsSync(join(copy, 'secrets/postgres_password'))).toBe(false);
  expect(await run('deploy/make-secrets')).toBe(0);
  expect(read('postgres_password')).toMatch(/^[0-9a-f]{64}\n$/);
  // Without tokens of the gateway, people sign in at the OpenID provider alone.
  writeFileSync(join(copy, 'secrets/gateway_tokens'), '');
  expect(await run('deploy/make-secrets')).toBe(0);
  expect(read('gateway_tokens')).toBe('');
});

test('deploy/rolling-restart says which container has replaced which, and nothing else', async () => {
  const copy = copyOfDeploy('with-a-rest');
  const bin = join(copy, 'bin');
  mkdirSync(bin);
  const fake = (name: string, lines: string) =>
    writeFileSync(join(bin, name), `#!/usr/bin/env bash\n${lines}`, { mode: 0o755 });
  fake('docker-compose', 'case $1 in ps) cat running ;; up) echo rest_2 >>running ;; esac');
  // As Docker 28 does, which knows --time, but no longer wants it.
  const stop = '[[ $* != *--time* ]] || echo "Flag --time has been deprecated" >&2; sed -i /rest_1/d running';
  const inspect = 'case $* in *Health*) echo healthy ;; *) shift 3 && printf "%s\\n" "$@" ;; esac';
  fake('docker', `case $1 in stop) ${stop} ;; inspect) ${inspect} ;; esac`);
  writeFileSync(join(copy, 'running'), 'rest_1\n');
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const program = startProcess('deploy/rolling-restart', ['rest'], { cwd: copy, env });
  expect([await program.ended, program.output()]).toEqual([0, 'rest: rest_2 has replaced rest_1\n']);
  expect(readFileSync(join(copy, 'running'), 'utf8')).toBe('rest_2\n');
});

const folder = mkdtempSync(join(tmpdir(), 'srs-commands-'));

/** A folder with the scripts of deploy/, which write beside themselves. */
function copyOfDeploy(name: string): string {
  const copy = join(folder, name);
  cpSync(join(root, 'deploy'), join(copy, 'deploy'), { recursive: true });
  return copy;
}

/** Those that print "CODE: message". */
const CODED = ['keys', 'users', 'clock', 'import', 'export'];

const QUESTIONS = ['--help', '-h', '--colour'];

const COMMANDS = [
  'keys dance',
  'keys rotate some-id --name n',
  'keys list --email ada@example.com --scopes x',
  'keys revoke some-id --email ada@example.com',
];

/** What each npm script with arguments led to; of all in one process, which loads their common code once. */
const answers = new Map<string, { code: number; stdout: string; output: string }>();

async function askAll(): Promise<void> {
  const calls = [...ours.flatMap((name) => QUESTIONS.map((question) => `${name} ${question}`)), ...COMMANDS];
  const ofFiles = calls.map((call) => {
    const [name = '', ...given] = call.split(' ');
    return [argumentsOf(name).at(-1), ...given].join(' ');
  });
  const flags = ['--import', './services/platform/process/require-node.js'];
  const program = startProcess(process.execPath, [...flags, 'test/system/fixtures/ask.ts', ...ofFiles], {
    env: { HOME: process.env.HOME, DATA_DIR: join(folder, 'data') },
  });
  expect([await program.ended, program.output()]).toEqual([0, program.stdout()]);
  const given: { code: number; stdout: string; output: string }[] = JSON.parse(program.stdout());
  for (const [index, answer] of given.entries()) answers.set(calls[index] ?? '', answer);
}
