// Sandbox users in the dashboard: marked in each list and at the head of their pages, whose distances follow their clock.
import { describe, expect } from 'vitest';
import { test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';
import { countLearnersNow } from '../support/count-learners.ts';
import { startTestGateway, VIEWER } from '../support/gateway.ts';
import { startRemindersBeside } from '../support/reminders-beside.ts';
import { CALL } from '../support/scheduling.ts';

describe.runIf(hasBrowser('sandbox users'))('a sandbox user in the dashboard', () => {
  test('is marked wherever it is listed, and its pages say what time it is for it', async ({ dashboard }) => {
    const { mutate } = dashboard.gateway;
    const email = 'marked@sandbox.example';
    const { user } = await mutate('createUser', { email, sandbox: true }, 'user { id }');
    const made = await mutate('createMaterial', { userId: user.id, title: 'a' }, 'material { id }');
    await mutate('setTestClock', { userId: user.id, time: '2099-01-01T08:00:00Z' });
    const review = { userId: user.id, materialId: made.material.id, quality: 4 };
    // Ten failures put it first among those with the lowest retention.
    for (let index = 0; index < 10; index += 1) await mutate('submitReview', { ...review, quality: 0 });
    await mutate('submitReview', review);
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    const key = { userId: user.id, name: 'ends', scopes: ['profile:read'], expiresAt };
    await mutate('createApiKey', key);
    await countLearnersNow(dashboard.system.databaseUrl);

    const { page } = await dashboard.openAt('#/users');
    const row = page.getByRole('row').filter({ hasText: email });
    expect(await row.locator('.badge').innerText()).toBe('sandbox');
    await page.goto(`${page.url().split('#')[0]}#/?order=RETENTION`);
    await page.getByRole('heading', { name: 'Learners', level: 2 }).waitFor();
    expect(await row.locator('.badge').innerText()).toBe('sandbox');
    await page.goto(`${page.url().split('#')[0]}#/expiring-keys`);
    await page.getByRole('heading', { name: 'Keys about to end' }).waitFor();
    expect(await row.locator('.badge').innerText()).toBe('sandbox');
    await page.goto(`${page.url().split('#')[0]}#/audit?action=setTestClock`);
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    expect(await row.first().locator('.badge').innerText()).toBe('sandbox');
    await page.goto(`${page.url().split('#')[0]}#/users/${user.id}/materials`);
    await page.locator('h1 .badge', { hasText: 'sandbox' }).waitFor();
    await page.getByText('A sandbox learner. Its clock says 1 Jan 2099, 08:00').waitFor();
    await page.getByText('in 24 hours').waitFor();
    await page.goto(`${page.url().split('#')[0]}#/users`);
    await page.getByRole('searchbox').first().fill(email);
    const hit = page.getByRole('listitem').filter({ hasText: email });
    expect(await hit.locator('.badge').first().innerText()).toBe('sandbox');
  });

  test('is made with a check mark, and its clock is moved, to where a reminder’s mail is kept and can be read', async ({
    dashboard: { system, openAt },
  }) => {
    const reminders = await startRemindersBeside(system);
    const gateway = await startTestGateway({ ...system, remindersTarget: reminders.target });
    const { origin } = gateway;
    const { page, complaints } = await openAt('#/users', { origin });
    await page.getByRole('button', { name: 'Add a learner' }).click();
    await page.getByLabel('E-mail address').fill('made@sandbox.example');
    await page.getByLabel('Sandbox learner').check();
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.locator('h1 .badge', { hasText: 'sandbox' }).waitFor();
    const userId = /users\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? '';
    await gateway.mutate('setTestClock', { userId, time: '2098-12-31T23:00:00Z' });
    await gateway.mutate('createMaterial', { userId, title: 'a' });
    const reminder = { time: '08:00', channels: ['EMAIL'], pausedUntil: '2098-06-01T00:00:00Z' };
    await gateway.mutate('createReminder', { userId, ...reminder });
    await page.goto(`${origin}/dashboard#/users/${userId}/reminders`);
    await page.getByText(/^The next reminder comes 1 Jan 2099, 08:00 \(in 9 hours\), by e-mail/).waitFor();
    // On its clock the pause is over.
    const shown = page.getByRole('row').filter({ hasText: 'every day' });
    expect(await shown.locator('td[data-column="Paused until"]').innerText()).toBe('–');
    expect(await shown.getByRole('button', { name: 'Pause 08:00, every day' }).count()).toBe(1);
    await page.locator('#move-clock').click();
    expect(await page.getByLabel('To', { exact: true }).inputValue()).toBe('2099-01-01T09:00');
    await page.getByRole('button', { name: 'Move', exact: true }).click();
    await page.getByText('It is 1 Jan 2099, 09:00 for made@sandbox.example').waitFor();
    const row = page.getByRole('region', { name: 'Latest deliveries: table' }).locator('tbody tr');
    await row.getByText('1 due').click();
    await row.getByText('Review them.').waitFor();
    expect(await row.innerText()).toContain('Kept, not sent: this is a sandbox learner.');
    await page.locator('#move-clock').click();
    await page.getByLabel('To', { exact: true }).fill('2098-01-01T09:00');
    await page.getByRole('button', { name: 'Move', exact: true }).click();
    await page.getByRole('alert').getByText('a clock goes only forward').waitFor();
    await page.keyboard.press('Escape');
    await page.goto(`${origin}/dashboard#/users/${userId}/timeline`);
    await page.getByText('Reminder by e-mail. Kept, not sent: this is a sandbox learner.').waitFor();
    expect(complaints).toEqual([]);
    await page.close();
    await gateway.stop();
    await reminders.stop();
  });

  test('lets a review be undone until a day has passed on its own clock', async ({ dashboard }) => {
    const { users, materials, reviews, learners } = dashboard.gateway.clients;
    const { user } = await users.createUser({ email: 'undoes@sandbox.example', sandbox: true }, CALL);
    const userId = user?.userId ?? '';
    const { material } = await materials.createMaterial({ userId, title: 'Ohm' }, CALL);
    await reviews.submitReview({ userId, materialId: material?.materialId ?? '', quality: 4 }, CALL);
    const { page } = await dashboard.openAt(`#/users/${userId}/timeline`);
    const undo = page.getByRole('button', { name: 'Undo the review of Ohm' });
    await undo.waitFor();
    await learners.setTestClock({ userId, forward: { seconds: 86_400, nanos: 0 } }, CALL);
    await page.reload();
    await page.getByText(/^Reviewed Ohm/).waitFor();
    expect(await undo.count()).toBe(0);
  });

  test('is shown to a viewer without what moves its clock', async ({ dashboard }) => {
    const { user } = await dashboard.gateway.clients.users.createUser(
      { email: 'seen@sandbox.example', sandbox: true },
      { requestId: 'test' },
    );
    const { page } = await dashboard.openAt(`#/users/${user?.userId}/reminders`, { token: VIEWER });
    await page.locator('h1 .badge', { hasText: 'sandbox' }).waitFor();
    expect(await page.locator('#move-clock').count()).toBe(0);
  });
});
