// Labels in the dashboard: shown, counted, filtered by, edited.
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';
import { holdBack, intercept, rowsOf } from '../support/dashboard.ts';
import { VIEWER } from '../support/gateway.ts';

describe.runIf(hasBrowser('labels'))('labels in the dashboard', () => {
  test.beforeAll(takeServices);

  test('are counted with those below them, lead to what has them and what of it is due, and are offered where one is typed', async () => {
    const userId = await newLearner({
      casa: ['Spanish'],
      later: ['Spanish/Verbs', 'irregular'],
      tener: ['Spanish/Verbs', 'irregular'],
      none: [],
    });
    const { page, complaints } = await dashboard.openAt(`#/users/${userId}/materials`);
    await page.getByRole('link', { name: 'Counts by label' }).click();
    await page.getByText('Each count includes the labels below').waitFor();
    expect(await rowsOf(page, 'Labels')).toEqual([
      ['Spanish', '3', '2'],
      ['Spanish/Verbs', '2', '1'],
      ['irregular', '2', '1'],
    ]);
    await page.getByRole('link', { name: 'Spanish', exact: true }).click();
    await expect.poll(() => titles(page)).toEqual(['tener', 'later', 'casa']);
    expect(await page.getByLabel('Label', { exact: true }).inputValue()).toBe('Spanish');
    await page.goBack();
    await page.getByRole('row', { name: 'Spanish/Verbs' }).getByRole('link', { name: '1' }).click();
    await expect.poll(() => titles(page)).toEqual(['tener']);
    expect(await page.getByLabel('State').inputValue()).toBe('due');
    await page.getByRole('row', { name: 'tener' }).getByRole('link', { name: 'irregular' }).click();
    await expect.poll(() => titles(page)).toEqual(['tener', 'later']);
    const field = page.getByLabel('Label', { exact: true });
    await field.focus();
    const offered = () =>
      page
        .locator('#labels option')
        .evaluateAll((all) => all.map((option) => [option.getAttribute('value'), option.textContent]));
    await expect.poll(offered).toEqual([
      ['Spanish', '3, 2 due'],
      ['Spanish/Verbs', '2, 1 due'],
      ['irregular', '2, 1 due'],
    ]);
    await field.fill('Spanish');
    await field.press('Enter');
    await expect.poll(() => titles(page)).toEqual(['tener', 'later', 'casa']);
    await field.fill('French');
    await field.press('Enter');
    await page.getByText('No material matches.').waitFor();
    expect(complaints).toEqual([]);
    await field.fill('Spanish/');
    await field.press('Enter');
    await page.getByRole('alert').getByText('labels must each have 1 to 60 characters').waitFor();
  });

  test('say that there are none; that are not available to offer are told in a notice, and not at all once another page is shown', async () => {
    const { userId } = await dashboard.newLearner(['casa']);
    const { page, complaints } = await dashboard.openAt(`#/users/${userId}/labels`);
    await page.getByText('No active material has a label.').waitFor();
    await page.getByRole('link', { name: 'Materials' }).click();
    await intercept(page, ['query Labels'], (route) => route.abort());
    await page.getByLabel('Label', { exact: true }).focus();
    await page.locator('#status').getByText('The gateway cannot be reached.').waitFor();
    await page.unroute('**/graphql');
    const asked = page.waitForRequest((request) => request.postData()?.includes('query Labels') ?? false);
    await page.getByLabel('State').focus();
    await page.getByLabel('Label', { exact: true }).focus();
    const answered = (await asked).response();
    await page.evaluate(`location.hash = '#/users'`);
    await answered;
    await page.getByText('All, newest first').waitFor();
    expect(complaints.filter((complaint) => !complaint.includes('ERR_FAILED'))).toEqual([]);
  });

  test('are offered for the learner who is shown, though those of the one before come later', async () => {
    const [before, shown] = [
      await newLearner({ casa: ['Spanish'] }),
      await newLearner({ maison: ['French'] }),
    ];
    const { page } = await dashboard.openAt(`#/users/${before}/materials`);
    const late = await holdBack(page, 'query Labels', before);
    const field = page.getByLabel('Label', { exact: true });
    await field.focus();
    await late.asked;
    await page.evaluate(`location.hash = '#/users/${shown}/materials'`);
    await page.getByRole('link', { name: 'maison' }).waitFor();
    await field.focus();
    const offered = page.locator('#labels option');
    await expect.poll(() => offered.allTextContents()).toEqual(['1, 1 due']);
    late.letGo();
    await late.isTaken();
    expect(await offered.evaluateAll((all) => all.map((each) => each.getAttribute('value')))).toEqual([
      'French',
    ]);
  });

  test('are edited a line each, refused with the reason, and told in the timeline', async () => {
    const userId = await newLearner({ casa: ['Spanish'] });
    const { page, complaints } = await dashboard.openAt(`#/users/${userId}/materials`);
    await page.getByRole('link', { name: 'casa' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit labels' });
    const card = page.getByRole('region', { name: 'Content' });
    const save = async (text: string) => {
      await page.getByRole('button', { name: 'Edit labels' }).click();
      await dialog.getByLabel('Labels').fill(text);
      await dialog.getByRole('button', { name: 'Save' }).click();
    };
    await save(' Spanish/Nouns \n\nhouse, home\nhouse, home');
    await page.getByText('Saved the labels: casa').waitFor();
    await expect.poll(() => card.getByRole('link').allInnerTexts()).toEqual(['Spanish/Nouns', 'house, home']);
    await page.getByRole('button', { name: 'Edit labels' }).click();
    expect(await dialog.getByLabel('Labels').inputValue()).toBe('Spanish/Nouns\nhouse, home');
    await page.keyboard.press('Escape');
    await save('x'.repeat(61));
    await dialog.getByText('must each have 1 to 60 characters').waitFor();
    await page.keyboard.press('Escape');
    await save(Array.from({ length: 21 }, (_, index) => `label ${index}`).join('\n'));
    await dialog.getByText('must be at most 20.').waitFor();
    await page.keyboard.press('Escape');
    await save('');
    await card.getByText('No labels.').waitFor();
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.getByText('Edited').first().waitFor();
    expect(complaints).toEqual([]);
  });

  test('are seen by a viewer, who cannot edit them', async () => {
    const userId = await newLearner({ casa: ['Spanish'] });
    const { page } = await dashboard.openAt(`#/users/${userId}/materials`, { token: VIEWER });
    await page.getByRole('link', { name: 'casa' }).click();
    await page.getByRole('region', { name: 'Content' }).getByRole('link', { name: 'Spanish' }).waitFor();
    expect(await page.getByRole('button', { name: 'Edit labels' }).count()).toBe(0);
  });

  test('are shown up to 1,000, and all of them offered in the filter', async () => {
    const labels = Array.from({ length: 1001 }, (_, index) => `label ${1000 + index}`);
    const groups = Array.from({ length: 51 }, (_, group) => labels.slice(group * 20, group * 20 + 20));
    const userId = await newLearner(Object.fromEntries(groups.map((group, index) => [`T${index}`, group])));
    const { page } = await dashboard.openAt(`#/users/${userId}/labels`);
    await page.getByText('The first 1,000 are shown.').waitFor();
    expect((await rowsOf(page, 'Labels')).at(-1)).toEqual(['label 1999', '1', '1']);
    await page.getByRole('link', { name: 'Materials' }).click();
    await page.getByLabel('Label', { exact: true }).focus();
    await expect.poll(() => page.locator('#labels option').count()).toBe(1001);
  });

  let dashboard: Given<'dashboard'>['dashboard'];

  function takeServices({ dashboard: shared }: Given<'dashboard'>): void {
    dashboard = shared;
  }

  /** A learner with materials of these titles and labels, of which "later" is not due. */
  const newLearner = async (labelled: Readonly<Record<string, readonly string[]>>) => {
    const { userId } = await dashboard.newLearner();
    const { materials, reviews } = dashboard.gateway.clients;
    for (const [title, labels] of Object.entries(labelled)) {
      const { material } = await materials.createMaterial({ userId, title, labels: [...labels] }, CALL);
      const materialId = material?.materialId ?? '';
      if (title === 'later') await reviews.submitReview({ userId, materialId, quality: 5 }, CALL);
    }
    return userId;
  };
  const titles = (page: Page) => page.locator('tbody th a[href*="/materials/"]').allInnerTexts();
});

const CALL = { requestId: 'test' };
