// The checks of npm run check that are our own: they fail, and name what breaks their rule.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { root, startProcess } from '../support/processes.ts';

test('a forbidden import, a forbidden package and a circle are named', async () => {
  const [code, said] = await check('check-imports.ts', {
    'services/rest/app.ts': "import { a } from '../scheduling/a.ts';\n",
    'services/scheduling/a.ts': "import { b } from '../platform/b.ts';\n",
    'services/scheduling/reviews/sm2.ts': "import { Client } from 'pg';\n",
    'services/platform/b.ts': "const c = await import('./c.ts');\n",
    'services/platform/c.ts': "export type { B } from './b.ts';\n",
  });
  expect([code, `${said}`.trim().split('\n').toSorted()]).toEqual([
    1,
    [
      'imports in a circle: services/platform/b.ts > services/platform/c.ts > services/platform/b.ts',
      'services/rest/app.ts may not import services/scheduling/a.ts',
      'services/scheduling/reviews/sm2.ts may not import the package pg',
    ],
  ]);
  const allowed = {
    'services/rest/app.ts': "import { b } from '../platform/b.ts';\n",
    'services/platform/b.ts': '',
  };
  expect(await check('check-imports.ts', allowed)).toEqual([0, '']);
});

/** Runs a check on a checkout with these files alone. @returns its exit code and what it says. */
async function check(script: string, files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'srs-checks-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  for (const [file, text] of Object.entries(files)) write(file, text);
  write('package.json', '{"type":"module"}');
  cpSync(join(root, 'scripts', script), join(folder, 'scripts', script));
  const program = startProcess(process.execPath, [`scripts/${script}`], { cwd: folder });
  return [await program.ended, program.output()];
}
