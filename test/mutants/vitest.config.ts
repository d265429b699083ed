// How tests run against mutants: as ever, but on a PostgreSQL that npm run mutants has started and ends.
import { defineConfig } from 'vitest/config';
import config from '../../vitest.config.ts';

const globs = JSON.parse(process.env.MUTANTS_TESTS ?? '[]') as string[];

export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: globs.filter((glob) => !glob.startsWith('!')),
    exclude: globs.filter((glob) => glob.startsWith('!')).map((glob) => glob.slice(1)),
    globalSetup: ['test/mutants/global-setup.ts'],
  },
});
