// Leeches in the dashboard: counted, listed, marked, and told where they became such.
import { describe, expect } from 'vitest';
import { test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';

describe.runIf(hasBrowser('leeches'))('in the dashboard', () => {
  test('a leech is counted, found by the filter, marked, told in the timeline, and none after an undo', async ({
    dashboard,
  }) => {
    const { userId, ids } = await dashboard.newLearner(['Ohm', 'Volt']);
    const { reviews } = dashboard.gateway.clients;
    const key = { userId, materialId: ids[0] ?? '' };
    const last = { reviewId: '' };
    for (const quality of Array.from({ length: 8 }, () => [3, 1]).flat()) {
      const { review } = await reviews.submitReview({ ...key, quality }, { requestId: 'test' });
      last.reviewId = review?.reviewId ?? '';
    }
    const { page } = await dashboard.openAt(`#/users/${userId}`);
    const tile = page.locator('.tile').filter({ hasText: 'Leeches' });
    await tile.getByText('1', { exact: true }).waitFor();
    await tile.getByRole('link', { name: 'forgotten again and again' }).click();
    const rows = page.getByRole('table', { name: 'Materials' }).locator('tbody tr');
    await rows.getByText('leech', { exact: true }).waitFor();
    expect(await rows.count()).toBe(1);
    await rows.getByRole('link', { name: 'Ohm' }).click();
    await page.locator('.facts').getByText('leech', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Timeline' }).click();
    const told = page.getByText('It made the material a leech');
    await told.waitFor();
    expect(await told.count()).toBe(1);
    await reviews.undoReview({ userId, reviewId: last.reviewId }, { requestId: 'test' });
    await page.evaluate(`location.hash = '#/users/${userId}/materials?state=leeches'`);
    await page.getByText('No material matches.').waitFor();
    await page.getByRole('link', { name: 'Profile' }).click();
    const leeches = page.getByRole('region', { name: 'Leeches' });
    await leeches.getByText('A material that was forgotten 8 times is marked as a leech.').waitFor();
    await leeches.getByRole('button', { name: 'Change …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change what makes a leech' });
    await dialog.getByLabel('Times forgotten').fill('100');
    await dialog.getByRole('button', { name: 'Change' }).click();
    const complaint = dialog
      .getByLabel('Times forgotten')
      .evaluate((input) => (input as { validationMessage: string }).validationMessage);
    expect(await complaint).toMatch(/99/);
    await dialog.getByLabel('Times forgotten').fill('7');
    await dialog.getByRole('button', { name: 'Change' }).click();
    await leeches.getByText('A material that was forgotten 7 times is marked as a leech.').waitFor();
    await page.evaluate(`location.hash = '#/users/${userId}/materials?state=leeches'`);
    await page.getByRole('link', { name: 'Ohm' }).waitFor();
  });
});
