// The command line of every program: --help explains it and starts nothing, and an unknown argument is refused.
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { root, startProcess } from '../support/processes.ts';

afterAll(() => rmSync(folder, { recursive: true }));

test('-h is short for --help', async () => {
  const short = await run('verify', '-h');
  expect(short).toEqual(await run('verify', '--help'));
  expect(short.code).toBe(0);
});

const { scripts }: { scripts: Record<string, string> } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);

/** Those that run a program of another project, which has a --help of its own, or several programs. */
const OTHERS = ['test', 'test:system', 'test:pages', 'faults', 'prepare', 'generate', 'format', 'check'];

const ours = Object.keys(scripts).filter((name) => !OTHERS.includes(name));

test.each(ours)('%s explains itself with --help, in the common layout', async (name) => {
  const { code, stdout, output } = await run(name, '--help');
  expect([code, output]).toEqual([0, stdout]);
  const call = name === 'start' ? 'npm start' : `npm run ${name}`;
  expect(stdout).toMatch(new RegExp(`^[A-Z][^\n]*\\.(\n[^\n]+)*\n\n {2}${call}\\b`));
  expect(stdout).toMatch(/\.\n$/);
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(130);
  expect(existsSync(join(folder, name))).toBe(false);
});

test.each(ours)('%s refuses an argument that it does not know', async (name) => {
  const { code, stdout, output } = await run(name, '--colour');
  const call = name === 'start' ? 'npm start' : `npm run ${name}`;
  const prefix = CODED.includes(name) ? 'invalid_request: ' : '';
  expect(output).toBe(`${prefix}Unknown option '--colour'. See "${call} -- --help".\n`);
  expect([stdout, code]).toEqual(['', ['verify', 'doctor', 'soak'].includes(name) ? 2 : 1]);
  expect(existsSync(join(folder, name))).toBe(false);
});

test.each([
  ['backup', 'Unexpected argument "gatewy".'],
  ['make-secrets', 'Unexpected argument "gatewy".'],
  ['rolling-restart', 'There is no service "gatewy".'],
])(
  'deploy/%s explains itself with --help, and refuses an argument that it does not know',
  async (name, refusal) => {
    const copy = join(folder, name);
    cpSync(join(root, 'deploy'), join(copy, 'deploy'), { recursive: true });
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

const folder = mkdtempSync(join(tmpdir(), 'srs-commands-'));

/** Those that print "CODE: message". */
const CODED = ['keys', 'users', 'clock', 'import', 'export'];

async function run(name: string, argument: string) {
  const call = name === 'start' ? ['start'] : ['run', name];
  const program = startProcess('npm', ['--silent', ...call, '--', argument], {
    env: { HOME: process.env.HOME, DATA_DIR: join(folder, name) },
  });
  return { code: await program.ended, stdout: program.stdout(), output: program.output() };
}
