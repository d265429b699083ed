// A learner's pages while one of the services is away: what it has to do with is missing, the rest is there.
import type { Page } from 'playwright-core';
import { afterAll, describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startRemindersBeside } from '../support/reminders-beside.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

describe.runIf(hasBrowser('services that are away'))('in the dashboard', { timeout: 60_000 }, () => {
  test.beforeAll(startAll);
  afterAll(stopAll);

  const today = new Date().toISOString().slice(0, 10);

  test.each([
    ['', (page: Page) => page.getByText('1 review in the last 365 days')],
    [`/days/${today}`, (page: Page) => page.getByText('1 review, 100')],
    ['/materials', (page: Page) => page.getByRole('link', { name: 'Ohm' })],
    ['/materials/ID', (page: Page) => page.getByText('If graded now')],
    ['/keys', (page: Page) => alert(page, 'The keys are not available.').getByText('Request ID')],
    ['/reminders', (page: Page) => page.getByText('The next reminder comes')],
    ['/timeline', (page: Page) => page.getByText(': grade 5, due again after 1 day')],
  ])('without accounts the page %s of a learner shows what the others have', async (path, shown) => {
    await without('accounts', path.replace('ID', learner.materialId), async (page) => {
      await shown(page).waitFor();
      const told = alert(page, 'The learner’s account is not available.');
      expect(await told.innerText()).toMatch(/Times are in UTC.*Request ID \S+/s);
      await page.getByRole('heading', { name: `Learner …${learner.userId.slice(-8)}` }).waitFor();
      expect(await page.getByRole('button', { name: /^(Archive|Snooze|Add|Create|Undo)/ }).count()).toBe(0);
      await proxies.accounts.open();
      await untilAnswered('query ($id: ID) { user(id: $id) { email } }');
      await told.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('heading', { name: learner.email }).waitFor();
      await proxies.accounts.shut();
    });
    await untilAnswered('query ($id: ID) { user(id: $id) { email } }');
  });

  test.each([
    ['', 'The statistics are not available.'],
    [`/days/${today}`, 'The reviews are not available.'],
    ['/materials', 'The materials are not available.'],
    ['/materials/ID', 'The material is not available.'],
    ['/timeline', 'Reviews, Snoozes: not available.'],
  ])('without scheduling the page %s of a learner says what is missing', async (path, missing) => {
    await without('scheduling', path.replace('ID', learner.materialId), async (page) => {
      await alert(page, missing).getByText('Request ID').waitFor();
      await page.getByRole('heading', { name: learner.email }).waitFor();
      await page.getByRole('link', { name: 'Keys' }).click();
      await page.getByText('valid', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'Reminders' }).click();
      await page.getByText('The next reminder comes').waitFor();
    });
    await untilAnswered('query ($id: ID) { user(id: $id) { materialCounts { due } } }');
  });

  test('a change is sent once, though the service that is to make it is away', async () => {
    const { page } = await dashboard.openAt(`#/users/${learner.userId}/materials`, {
      origin: gateway.origin,
    });
    const archive = page.getByRole('button', { name: 'Archive Ohm' });
    await archive.waitFor();
    let sent = 0;
    page.on('request', (request) => {
      if (request.postData()?.includes('mutation Archive')) sent += 1;
    });
    await proxies.scheduling.shut();
    try {
      await archive.click();
      await page.locator('#status').getByText('Wait a moment, then try again.').waitFor();
      expect(sent).toBe(1);
    } finally {
      await proxies.scheduling.open();
    }
    await page.close();
    await untilAnswered('query ($id: ID) { user(id: $id) { materialCounts { due } } }');
  });

  test.each([
    ['/reminders', 'The reminders service does not answer.'],
    ['/timeline', 'Reminders: not available.'],
  ])('without reminders the page %s of a learner says what is missing', async (path, missing) => {
    await without('reminders', path, async (page) => {
      await alert(page, missing).getByText('Request ID').waitFor();
      await page.getByRole('heading', { name: learner.email }).waitFor();
      await page.getByRole('link', { name: 'Materials' }).click();
      await page.getByRole('link', { name: 'Ohm' }).waitFor();
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByText('1 review in the last 365 days').waitFor();
    });
    await untilAnswered('query ($id: ID) { user(id: $id) { reminders { id } } }');
  });

  let dashboard: Given<'dashboard'>['dashboard'];
  let reminders: Awaited<ReturnType<typeof startRemindersBeside>>;
  let proxies: Record<Service, TcpProxy>;
  let gateway: TestGateway;
  let learner: { userId: string; email: string; materialId: string };

  async function startAll({ dashboard: shared }: Given<'dashboard'>): Promise<void> {
    dashboard = shared;
    const { system } = dashboard;
    reminders = await startRemindersBeside(system);
    proxies = {
      accounts: await startTcpProxy(portOf(system.accountsTarget)),
      scheduling: await startTcpProxy(portOf(system.schedulingTarget)),
      reminders: await startTcpProxy(portOf(reminders.target)),
    };
    gateway = await startTestGateway({
      trust: system.trust,
      accountsTarget: proxies.accounts.target,
      schedulingTarget: proxies.scheduling.target,
      remindersTarget: proxies.reminders.target,
    });
    learner = await studied();
  }

  async function stopAll(): Promise<void> {
    await gateway.stop();
    for (const proxy of Object.values(proxies)) await proxy.stop();
    await reminders.stop();
  }

  /** A learner with a material, which was reviewed, and a reminder. */
  async function studied() {
    const { userId } = await dashboard.system.createUser(['profile:read'], 'Asia/Tokyo');
    const call = { requestId: 'test' };
    const { materials, reviews } = gateway.clients;
    const { material } = await materials.createMaterial({ userId, title: 'Ohm' }, call);
    const materialId = material?.materialId ?? '';
    await reviews.submitReview({ userId, materialId, quality: 5 }, call);
    const made = `mutation ($input: CreateReminderInput!) { createReminder(input: $input) { reminder { id } } }`;
    await gateway.query(made, { input: { userId, time: '09:00', channels: ['EMAIL'] } });
    const { data } = await gateway.query('query ($id: ID) { user(id: $id) { email } }', { id: userId });
    return { userId, materialId, email: data.user.email as string };
  }

  async function without(service: Service, path: string, check: (page: Page) => Promise<void>) {
    const { page } = await dashboard.openAt('#/users', { origin: gateway.origin });
    await page.getByRole('heading', { name: 'All learners' }).waitFor();
    await proxies[service].shut();
    try {
      await page.evaluate(`location.hash = '#/users/${learner.userId}${path}'`);
      await check(page);
    } finally {
      await proxies[service].open();
    }
  }
  const alert = (page: Page, text: string) => page.getByRole('alert').filter({ hasText: text });
  const untilAnswered = (query: string) =>
    expect
      .poll(async () => (await gateway.query(query, { id: learner.userId })).errors, { timeout: 10_000 })
      .toBeUndefined();
});

type Service = 'accounts' | 'scheduling' | 'reminders';
const portOf = (target: string) => Number(target.split(':').at(-1));
