// A learner's pages while one of the services is away: what it has to do with is missing, the rest is there.
import type { Page } from 'playwright-core';
import { afterAll, describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';
import { countRequests } from '../support/dashboard.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startRemindersBeside } from '../support/reminders-beside.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

describe.runIf(hasBrowser('services that are away'))('in the dashboard', () => {
  test.beforeAll(startAll);
  afterAll(stopAll);

  const today = new Date().toISOString().slice(0, 10);

  test('without accounts the pages of a learner say so, and one is shown once it is back', async () => {
    const { page } = await open('/materials');
    await without('accounts', async () => {
      await goTo(page, '/profile');
      await alert(page, 'Something went wrong').getByText('Request ID').waitFor();
    });
    await untilAnswered('query ($id: ID) { user(id: $id) { email } }');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: learner.email }).waitFor();
  });

  test('without scheduling each page of a learner says what is missing, and a change is sent once', async () => {
    const { page } = await open('/materials');
    const archive = page.getByRole('button', { name: 'Archive Ohm' });
    await archive.waitFor();
    const sent = countRequests(page, 'mutation Archive');
    await without('scheduling', async () => {
      await archive.click();
      const notice = page.locator('#status', { hasText: 'The change may have been made anyway' });
      expect(await notice.innerText()).toBe(
        'The service cannot answer right now. The change may have been made anyway: reload the page, and check before you try again.',
      );
      expect(sent()).toBe(1);
      for (const [path, missing] of [
        ['', 'The statistics are not available.'],
        [`/days/${today}`, 'The reviews are not available.'],
        ['/materials', 'The materials are not available.'],
        [`/materials/${learner.materialId}`, 'The material is not available.'],
        ['/timeline', 'Reviews, Snoozes: not available.'],
      ] as const) {
        await goTo(page, path);
        await alert(page, missing).getByText('Request ID').waitFor();
        await page.getByRole('heading', { name: learner.email }).waitFor();
      }
      await page.getByRole('link', { name: 'Keys' }).click();
      await page.getByText('valid', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'Reminders' }).click();
      await page.getByText('The next reminder comes').waitFor();
    });
    await untilAnswered('query ($id: ID) { user(id: $id) { materialCounts { due } } }');
  });

  test('without scheduling the preview of a spread says to wait, and not that anything may have been changed', async () => {
    const { userId } = await dashboard.newLearner(['Due']);
    const { page } = await dashboard.openAt(`#/users/${userId}`, { origin: gateway.origin });
    const catchUp = page.getByRole('button', { name: 'Catch up …' });
    await catchUp.waitFor();
    await without('scheduling', async () => {
      await catchUp.click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Wait a moment, then try again.').waitFor();
      expect(await dialog.innerText()).not.toContain('may have been made');
    });
    await untilAnswered('query ($id: ID) { user(id: $id) { materialCounts { due } } }');
  });

  test('without scheduling the list of all learners and the audit are whole, also with a sandbox user in them', async () => {
    const { email } = await newSandboxUser();
    const { page } = await open('/keys');
    await without('scheduling', async () => {
      for (const [path, heading] of [
        ['users', 'All learners'],
        ['audit?action=createUser', 'Audit'],
      ] as const) {
        await page.evaluate(`location.hash = '#/${path}'`);
        await page.getByRole('heading', { name: heading, exact: true }).waitFor();
        const row = page.getByRole('row').filter({ hasText: email });
        await row.getByText('sandbox', { exact: true }).waitFor();
      }
    });
    await untilAnswered('query ($id: ID) { user(id: $id) { materialCounts { due } } }');
  });

  test('without reminders their pages say what is missing, and the others are whole', async () => {
    const { page } = await open();
    await without('reminders', async () => {
      for (const [path, missing] of [
        ['/reminders', 'The reminders service does not answer.'],
        ['/timeline', 'Reminders: not available.'],
      ] as const) {
        await goTo(page, path);
        await alert(page, missing).getByText('Request ID').waitFor();
        await page.getByRole('heading', { name: learner.email }).waitFor();
      }
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
    const { userId, email, ids } = await dashboard.newLearner(['Ohm'], 'Asia/Tokyo');
    const [materialId = ''] = ids;
    await gateway.mutate('submitReview', { userId, materialId, quality: 5 });
    await gateway.mutate('createReminder', { userId, time: '09:00', channels: ['EMAIL'] });
    return { userId, materialId, email };
  }

  async function newSandboxUser() {
    const email = `${crypto.randomUUID()}@sandbox.example`;
    const { user } = await gateway.mutate('createUser', { email, sandbox: true }, 'user { id }');
    return { email, userId: user.id as string };
  }

  const open = (path = '') =>
    dashboard.openAt(`#/users/${learner.userId}${path}`, { origin: gateway.origin });
  const goTo = (page: Page, path: string) =>
    page.evaluate(`location.hash = '#/users/${learner.userId}${path}'`);
  async function without(service: Service, check: () => Promise<void>) {
    await proxies[service].shut();
    try {
      await check();
    } finally {
      await proxies[service].open();
    }
  }
  const alert = (page: Page, text: string) => page.getByRole('alert').filter({ hasText: text });
  const untilAnswered = (query: string) =>
    expect.poll(async () => (await gateway.query(query, { id: learner.userId })).errors).toBeUndefined();
});

type Service = 'accounts' | 'scheduling' | 'reminders';
const portOf = (target: string) => Number(target.split(':').at(-1));
