// Sandbox users in the dashboard: marked in each list and at the head of their pages, whose distances follow their clock.
import { describe, expect } from 'vitest';
import { test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';
import { countLearnersNow } from '../support/count-learners.ts';

describe.runIf(hasBrowser('sandbox users'))('a sandbox user in the dashboard', { timeout: 60_000 }, () => {
  test('is marked wherever it is listed, and its pages say what time it is for it', async ({ dashboard }) => {
    const { gateway, system } = dashboard;
    const mutate = async (name: string, input: object, fields: string) =>
      (
        await gateway.query(
          `mutation ($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { ${fields} } }`,
          { input },
        )
      ).data[name];
    const email = 'marked@sandbox.example';
    const { user } = await mutate('createUser', { email, sandbox: true }, 'user { id }');
    const made = await mutate('createMaterial', { userId: user.id, title: 'a' }, 'material { id }');
    await mutate('setTestClock', { userId: user.id, time: '2099-01-01T08:00:00Z' }, 'testClock { now }');
    const review = { userId: user.id, materialId: made.material.id, quality: 4 };
    // Ten failures put it first among those with the lowest retention.
    for (let index = 0; index < 10; index += 1)
      await mutate('submitReview', { ...review, quality: 0 }, 'material { isDue }');
    await mutate('submitReview', review, 'material { isDue }');
    await countLearnersNow(system.databaseUrl);

    const { page } = await dashboard.openAt('#/users');
    const row = page.getByRole('row').filter({ hasText: email });
    expect(await row.locator('.badge').innerText()).toBe('sandbox');
    await page.goto(`${page.url().split('#')[0]}#/?order=RETENTION`);
    await page.getByRole('heading', { name: 'Learners', level: 2 }).waitFor();
    expect(await row.locator('.badge').innerText()).toBe('sandbox');
    await page.goto(`${page.url().split('#')[0]}#/users/${user.id}/materials`);
    await page.locator('h1 .badge', { hasText: 'sandbox' }).waitFor();
    await page.getByText('A user to test with. Its clock says 1 Jan 2099, 08:00').waitFor();
    await page.getByText('in 24 hours').waitFor();
    await page.close();
  });
});
