// How tests run against mutants: as ever, but on a PostgreSQL that npm run mutants has started and ends.
import { matchesGlob, relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import config from '../../vitest.config.ts';

const globs = JSON.parse(process.env.MUTANTS_TESTS ?? '[]') as string[];

/** In the order of the room's globs: the first failure ends a run, so the quick files stand first. */
class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) =>
      globs.findIndex((glob) => matchesGlob(relative(this.ctx.config.root, moduleId), glob));
    return files.toSorted((one, other) => place(one) - place(other));
  }
}

export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: globs.filter((glob) => !glob.startsWith('!')),
    exclude: globs.filter((glob) => glob.startsWith('!')).map((glob) => glob.slice(1)),
    isolate: true,
    sequence: { sequencer: InOrder },
    globalSetup: ['test/mutants/global-setup.ts'],
  },
});
