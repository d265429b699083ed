// The dashboard of a gateway over a system with seeded learners, and a browser to look at it with.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { BrowserContextOptions, Page, Request, Route } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { borrowBrowser, watch } from './browser.ts';
import { countLearnersNow } from './count-learners.ts';
import { OPERATOR, startTestGateway } from './gateway.ts';
import { root } from './processes.ts';
import { startStubReminders } from './stub-reminders.ts';
import { startSystem, type TestSystem } from './system.ts';

const CALL = { requestId: 'test' };
export type TestDashboard = Awaited<ReturnType<typeof startTestDashboard>>;
export type SharedDashboard = Awaited<ReturnType<typeof startSharedDashboard>>;

/** `system`: runs already; default: one of its own. `remindersTarget`: where the reminders service is; without it reminders are off. */
type DashboardSettings = { system?: TestSystem; remindersTarget?: string };

/**
 * `own`: options of a context of the page's own, as a false clock needs; default: a context that all pages share, which has the files
 * already.
 */
type OpenSettings = { token?: string; origin?: string; own?: BrowserContextOptions };

/** With seeded learners. */
export async function startTestDashboard(settings: DashboardSettings = {}) {
  const dashboard = await startEmptyDashboard(settings);
  const email = await seed(dashboard.system.databaseUrl);
  await countLearnersNow(dashboard.system.databaseUrl);
  const { data } = await dashboard.gateway.query('query ($email: String) { user(email: $email) { id } }', {
    email,
  });
  return {
    ...dashboard,
    /** A seeded learner. */
    seeded: { email, userId: data.user.id as string },
  };
}

/** What all files of pages share: seeded learners in `system`, and reminders that a stub holds. */
export async function startSharedDashboard(system: TestSystem) {
  const reminders = await startStubReminders();
  const dashboard = await startTestDashboard({ system, remindersTarget: reminders.target });
  return {
    ...dashboard,
    reminders,
    async stop() {
      await dashboard.stop();
      await reminders.stop();
    },
  };
}

export async function startEmptyDashboard(settings: DashboardSettings) {
  const { system = await startSystem(), remindersTarget } = settings;
  const gateway = await startTestGateway({ ...system, ...(remindersTarget && { remindersTarget }) });
  const { browser, giveBack } = await borrowBrowser();
  const newContext = (options: BrowserContextOptions = {}) =>
    browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce', ...options });
  const shared = await newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
  // As long as it is open, its process serves all pages of the site.
  const kept = await shared.newPage();
  await kept.goto(`${gateway.origin}/none`);
  /** With the tabs that it opens, until the end of the test. `own`: as for `openAt`. */
  const open = async (own?: BrowserContextOptions) => {
    const context = own ? await newContext(own) : shared;
    const page = await context.newPage();
    // Less than a test's: what it waited for is told.
    page.setDefaultTimeout(60_000);
    onTestFinished(async () => {
      if (own) return context.close();
      for (const each of shared.pages()) if (each !== kept) await each.close();
    });
    // Some log in with a wrong token.
    return { page, ...watch(page, { expected: '401' }) };
  };
  return {
    system,
    gateway,
    browser,
    open,
    /** At an address behind the #, logged in; of another gateway where `origin` is given. */
    async openAt(hash: string, { token = OPERATOR, origin = gateway.origin, own }: OpenSettings = {}) {
      const opened = await open(own);
      await opened.page.addInitScript(logInOnce(token));
      await opened.page.goto(`${origin}/dashboard${hash}`);
      await opened.page.locator('header').getByText('Log out').waitFor();
      return opened;
    },
    /** A user with a key, and with materials of these titles, the oldest first. */
    async newLearner(titles: readonly string[] = [], timeZone = 'UTC') {
      const user = await system.createUser(['profile:read'], timeZone);
      const ids: string[] = [];
      for (const title of titles) {
        const made = await gateway.clients.materials.createMaterial({ userId: user.userId, title }, CALL);
        ids.push(made.material?.materialId ?? '');
      }
      return { ...user, ids };
    },
    async stop() {
      await shared.close();
      await giveBack();
      await gateway.stop();
      if (settings.system === undefined) await system.stop();
    },
  };
}

/** A script that logs a tab in as it opens, as by the login. Only once: a token that it forgets stays forgotten. */
const logInOnce = (token: string) => `if (window.name === '') {
  window.name = 'logged in';
  sessionStorage.setItem('gateway-token', '${token}');
  sessionStorage.setItem('logout', localStorage.getItem('logout') ?? '');
}`;

/** A script that replaces the tab's token by one that the gateway does not know. */
export const EXPIRE = `sessionStorage.setItem('gateway-token', '${'e'.repeat(40)}')`;

export async function logIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Gateway token').fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
}

const holds = (request: Request, texts: readonly string[]) =>
  texts.every((text) => request.postData()?.includes(text));

/** Does with the requests of a page that hold all of `texts` something of its own. */
export const intercept = (page: Page, texts: readonly string[], handle: (route: Route) => unknown) =>
  page.route('**/graphql', (route) => (holds(route.request(), texts) ? handle(route) : route.continue()));

/** Holds back the requests of a page that hold all of `texts`. */
export async function holdBack(page: Page, ...texts: string[]) {
  const asked = Promise.withResolvers<Request>();
  const ending = Promise.withResolvers<(route: Route) => Promise<void>>();
  await intercept(page, texts, async (route) => {
    asked.resolve(route.request());
    await (await ending.promise)(route);
  });
  return {
    /** The first of them. */
    asked: asked.promise,
    /** Ends them, by default with an answer. */
    letGo: (end = (route: Route) => route.continue()) => ending.resolve(end),
    /** Resolves when the page has taken the answer to the first. */
    async isTaken() {
      await (await (await asked.promise).response())?.finished();
      await page.evaluate(`fetch('/dashboard').then((answer) => answer.text())`);
    },
  };
}

/** Presses a button that saves a file. */
export async function save(page: Page, button: string) {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button, exact: true }).click(),
  ]);
  return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') };
}

/** The texts of a table's cells, row by row, once there are any. */
export async function rowsOf(page: Page, table: string): Promise<(string | null)[][]> {
  const rows = page.getByRole('table', { name: table, exact: true }).locator('tbody tr');
  await rows.first().waitFor();
  return rows.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
}

/** Counts the requests of a page that hold `text`. */
export function countRequests(page: Page, text: string): () => number {
  let count = 0;
  page.on('request', (request) => {
    if (holds(request, [text])) count += 1;
  });
  return () => count;
}

/** @returns the e-mail address of a learner to look at */
async function seed(databaseUrl: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    'npm',
    ['run', '--silent', 'seed', '--', '--users', '30', '--materials', '60', '--yes'],
    { cwd: root, env: { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: databaseUrl } },
  );
  return /learner1\S+/.exec(stdout)?.[0] ?? '';
}
