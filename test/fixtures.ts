// What tests are given: services that all files of a worker share, since users keep their rows apart, and a user of each test's own.
import { randomUUID } from 'node:crypto';
import { test as base, type TestAPI } from 'vitest';
import { createApi } from './support/api.ts';
import { startTestGateway } from './support/gateway.ts';
import { startTestScheduling } from './support/scheduling.ts';
import { startSystem } from './support/system.ts';

type Stoppable = { stop(): Promise<void> };
export type Cleanup = { onCleanup(stop: () => Promise<void>): void };

const scheduling = shared(startTestScheduling);
const system = shared(async () => startSystem({ scheduling: await scheduling.started() }));
const gateway = shared(async () => startTestGateway(await system.started()));
const dashboard = shared(async () => {
  // Only files of pages need a browser.
  const { startSharedDashboard } = await import('./support/dashboard.ts');
  return startSharedDashboard(await system.started());
});

/**
 * A test names what it needs: `test('…', async ({ scheduling, userId }) => …)`; with a table, `test.for(cases)('…', async (each, { rest }) => …)`.
 * A file whose tests look at all users or change the database takes `ownScheduling`.
 */
export const test = base
  .extend('schedulingOfWorker', { scope: 'worker' }, scheduling.fixture)
  /** The service of the worker. Once the file is done its clock runs again, and its connection has no settings of the file's. */
  .extend('scheduling', { scope: 'file' }, ({ schedulingOfWorker }, { onCleanup }) => {
    onCleanup(async () => {
      schedulingOfWorker.setClock(undefined);
      await schedulingOfWorker.sql.query('RESET ALL');
    });
    return schedulingOfWorker;
  })
  /** A second process of it. */
  .extend('otherScheduling', { scope: 'file' }, async ({ scheduling }, { onCleanup }) => {
    const other = await scheduling.startAnother();
    onCleanup(other.stop);
    return other;
  })
  /** The same scheduling service with accounts and a REST facade. */
  .extend('system', { scope: 'worker' }, system.fixture)
  /** Clients of accounts. */
  .extend('accounts', { scope: 'worker' }, ({ system }) => ({ ...system.accounts, events: system.events }))
  .extend('gateway', { scope: 'worker' }, gateway.fixture)
  /** A browser at the dashboard of a gateway of its own over the same system, with seeded learners. */
  .extend('dashboard', { scope: 'worker' }, dashboard.fixture)
  /** A scheduling service with a database of the file's own. */
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from it that nothing else is needed
  .extend('ownScheduling', { scope: 'file' }, async ({}, { onCleanup }) => {
    const own = await startTestScheduling();
    onCleanup(own.stop);
    return own;
  })
  /** Scheduling takes any id for a user. */
  .extend('userId', () => randomUUID())
  /** The ids of a material of `userId`, as requests take them. */
  .extend('material', async ({ scheduling, userId }) => ({
    userId,
    materialId: await scheduling.create(userId),
  }))
  /** A user in accounts, with one key of all scopes. */
  .extend('user', ({ system }) => system.createUser())
  .extend('key', ({ user }) => user.key)
  /** The public API with the user's key; each answer is held to the contract. */
  .extend('rest', ({ system, key }) => createApi(`${system.origins[0]}/v1`, key));

/** The named fixtures, as a function that stands apart takes them: `function prepare({ scheduling }: Given<'scheduling'>)`. */
export type Given<Name extends keyof Fixtures> = Pick<Fixtures, Name>;
type Fixtures = typeof test extends TestAPI<infer Context> ? Context : never;

/** One for all files of the worker, also where a file extends `test`: vitest alone would start another one there. */
function shared<T extends Stoppable>(start: () => Promise<T>) {
  let service: Promise<T> | undefined;
  const started = (): Promise<T> => {
    service ??= start().then((each) => {
      running.push(each);
      return each;
    });
    return service;
  };
  return {
    started,
    // biome-ignore lint/correctness/noEmptyPattern: as above
    fixture: ({}, { onCleanup }: Cleanup) => {
      onCleanup(stopAll);
      return started();
    },
  };
}

const running: Stoppable[] = [];

/** The latest first, since it may use the others. */
async function stopAll(): Promise<void> {
  for (let each = running.pop(); each !== undefined; each = running.pop()) await each.stop();
}
