// How the fault tests run (npm run faults): one after the other, since each kills what it runs on.
import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ['test/faults/**/*.fault.ts'],
    globalSetup: ['test/faults/support/global-setup.ts'],
    fileParallelism: false,
    isolate: true,
    testTimeout: 1_200_000,
    hookTimeout: 120_000,
  },
});
