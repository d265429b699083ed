// How the tests run: in several processes, against one PostgreSQL that test/support/global-setup.ts starts.
import { defineConfig } from 'vitest/config';
import { FalseClocksFirst } from './test/support/false-clocks-first.ts';

/** Whole systems, programs and pages, which take as long as all the rest: npm run test:system and test:pages run them. */
const SYSTEM = [
  'test/system/**',
  'test/operations/**',
  'test/moving/commands.test.ts',
  'test/gateway/{dashboard,graphiql}*',
  'test/rest/docs.test.ts',
  // Loads gRPC in a way of its own.
  'test/platform/new-replicas.test.ts',
];
const isNamed = process.argv.some((argument) => argument.startsWith('test/'));

export default defineConfig({
  // Node takes graphql's CommonJS form; were the tests to take the other, there would be two of every class.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    // A file that is named runs wherever it is.
    exclude: isNamed ? [] : SYSTEM,
    pool: 'forks',
    // As the services have it: less garbage collection.
    execArgv: ['--max-semi-space-size=16'],
    // A process loads the code once for all its files: to load it for each takes a third of the time.
    isolate: isNamed,
    // Most tests wait for other processes more than they compute. Named files may be whole systems, which take more memory and CPU.
    maxWorkers: isNamed ? 4 : 8,
    sequence: { sequencer: FalseClocksFirst },
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/leave-as-found.ts'],
    // Only what hangs takes so long: a test that starts many programs takes over a minute where the machine is slow and busy.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // A condition that is waited for; on a slow and busy machine a program takes 20 seconds to start.
    expect: { poll: { timeout: 60_000 } },
  },
});
