// The command line of every program: --help explains it and starts nothing, and an unknown argument is refused.
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { root, startProcess } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';

afterAll(() => rmSync(folder, { recursive: true }));

const { scripts }: { scripts: Record<string, string> } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);

/** Those that run a program of another project, which has a --help of its own, or several programs. */
const OTHERS = ['test', 'test:system', 'test:pages', 'faults', 'prepare', 'generate', 'format', 'check'];

const ours = Object.keys(scripts).filter((name) => !OTHERS.includes(name));

test.each(ours)(
  '%s explains itself with --help, in the common layout, and refuses an unknown argument',
  async (name) => {
    const [explained, short, refused] = await ask(name, '--help', '-h', '--colour');
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
    expect(existsSync(join(folder, name))).toBe(false);
  },
);

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

/** Runs the npm script's program once for each argument, in one process. */
async function ask(name: string, ...questions: string[]): Promise<Answer[]> {
  const [file = '', ...flags] = argumentsOf(name).toReversed();
  const program = startProcess(
    process.execPath,
    [...flags.toReversed(), 'test/system/fixtures/ask.ts', file, ...questions],
    { env: { HOME: process.env.HOME, DATA_DIR: join(folder, name) } },
  );
  expect([await program.ended, program.output()]).toEqual([0, program.stdout()]);
  return JSON.parse(program.stdout());
}

type Answer = { code: number; stdout: string; output: string };
