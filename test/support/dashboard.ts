// The dashboard of a gateway over a system with seeded learners, and a browser to look at it with.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { startBrowser, watch } from './browser.ts';
import { countLearnersNow } from './count-learners.ts';
import { OPERATOR, startTestGateway } from './gateway.ts';
import { root } from './processes.ts';
import { startStubReminders } from './stub-reminders.ts';
import type { TestSystem } from './system.ts';

export type TestDashboard = Awaited<ReturnType<typeof startTestDashboard>>;
const CALL = { requestId: 'test' };

/** Reminders are held by a stub. */
export async function startTestDashboard(system: TestSystem) {
  const reminders = await startStubReminders();
  const gateway = await startTestGateway({ ...system, remindersTarget: reminders.target });
  const browser = await startBrowser();
  const email = await seed(system.databaseUrl);
  await countLearnersNow(system.databaseUrl);
  const { user } = await gateway.clients.users.findUserByEmail({ email }, CALL);
  const open = async (options: BrowserContextOptions = {}) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    // Less than a test's: what it waited for is told.
    page.setDefaultTimeout(15_000);
    // Some log in with a wrong token.
    return { page, ...watch(page, { expected: '401' }) };
  };
  return {
    system,
    gateway,
    reminders,
    browser,
    /** A seeded learner. */
    seeded: { email, userId: user?.userId ?? '' },
    open,
    /** At an address behind the #, logged in; of another gateway where `origin` is given. */
    async openAt(
      hash: string,
      {
        token = OPERATOR,
        origin = gateway.origin,
        ...options
      }: BrowserContextOptions & { token?: string; origin?: string } = {},
    ) {
      const opened = await open(options);
      await opened.page.goto(`${origin}/dashboard${hash}`);
      await logIn(opened.page, token);
      await opened.page.locator('header').getByText('Log out').waitFor();
      return opened;
    },
    /** A learner with a key, and due materials with these titles, the first of which is the oldest. */
    async newLearner(titles: readonly string[] = [], timeZone = 'UTC') {
      const user = await system.createUser(['profile:read'], timeZone);
      const ids: string[] = [];
      for (const title of titles) {
        const { material } = await gateway.clients.materials.createMaterial(
          { userId: user.userId, title },
          CALL,
        );
        ids.push(material?.materialId ?? '');
      }
      return { ...user, ids };
    },
    async stop() {
      await browser.close();
      await gateway.stop();
      await reminders.stop();
    },
  };
}

export async function logIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Gateway token').fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
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
