// What the dashboard keeps of a page that a person comes back to, and of what they type meanwhile.
import type { Page, Route } from 'playwright-core';
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';
import { holdBack } from '../support/dashboard.ts';

describe.runIf(hasBrowser('the way back'))('in the dashboard', () => {
  test.beforeAll(takeServices);

  test('goes back and forward to where a list was scrolled to, also after a reload and to another page of it', async () => {
    const { userId, ids } = await dashboard.newLearner(Array.from({ length: 30 }, (_, index) => `m${index}`));
    const page = await openSmall(`#/users/${userId}/materials`);
    const first = page.getByRole('link', { name: 'm7', exact: true });
    const next = page.getByRole('link', { name: 'Next page' });
    await first.waitFor();
    await page.evaluate('scrollTo(0, 500)');
    await page.evaluate(`location.hash = '#/users/${userId}/materials/${ids[7]}'`);
    await page.getByText('If graded now').waitFor();
    expect(await scrolled(page)).toBe(0);
    await page.evaluate('scrollTo(0, 150)');
    await page.goBack();
    await first.waitFor();
    expect(await scrolled(page)).toBe(500);
    await page.goForward();
    await page.getByText('If graded now').waitFor();
    expect(await scrolled(page)).toBe(150);
    await page.goBack();
    await first.waitFor();
    await page.reload();
    await first.waitFor();
    expect(await scrolled(page)).toBe(500);
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    const bottom = await scrolled(page);
    await next.click();
    await page.getByRole('link', { name: 'Previous page' }).waitFor();
    expect(await scrolled(page)).toBeLessThan(bottom);
    await page.goBack();
    await next.waitFor();
    expect(await scrolled(page)).toBe(bottom);
  });

  test('goes back to all the events, and to all the reviews, that were loaded', async () => {
    const { userId, ids } = await dashboard.newLearner(['First']);
    await review(userId, ids[0] ?? '', 102);
    const page = await openSmall(`#/users/${userId}/timeline`);
    await page.getByRole('button', { name: 'Load older events' }).waitFor();
    // Pressed twice before they have come.
    await page.evaluate("for (const _ of 'ab') document.querySelector('#older').click()");
    await page.locator('tbody tr').nth(59).waitFor();
    const rows = await page.locator('tbody tr').count();
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    const bottom = await scrolled(page);
    await page
      .locator('tbody tr')
      .nth(rows - 1)
      .getByRole('link', { name: 'First' })
      .click();
    await page.getByText('The latest 100 reviews: the interval from each on').waitFor();
    await page.getByRole('button', { name: 'Load older reviews' }).click();
    await page.getByText('102 reviews').waitFor();
    const drawn = `Chart.getChart(document.querySelector('[aria-label=History] canvas')).data.datasets[0].data.length`;
    expect(await page.evaluate(drawn)).toBe(102);
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByText('valid', { exact: true }).waitFor();
    await page.goBack();
    await page.getByText('102 reviews').waitFor();
    await page.goBack();
    await page.locator('tbody tr').nth(59).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(rows);
    expect(await scrolled(page)).toBe(bottom);
  });

  test('goes back to the events that were loaded, where further ones did not come', async () => {
    const { userId, ids } = await dashboard.newLearner(['First']);
    await review(userId, ids[0] ?? '', 60);
    const page = await openSmall(`#/users/${userId}/timeline`);
    await page.locator('tbody tr').nth(49).waitFor();
    dashboard.reminders.setAway(true);
    await page.getByRole('button', { name: 'Load older events' }).click();
    await page.getByText('Reminders: not available. Wait a moment, then try again.').waitFor();
    dashboard.reminders.setAway(false);
    await page.locator('tbody tr').first().getByRole('link', { name: 'First' }).click();
    await page.getByText('60 reviews').waitFor();
    await page.goBack();
    await page.locator('tbody tr').nth(49).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(50);
  });

  test.each([
    ['comes', (route: Route) => route.continue()],
    ['fails', (route: Route) => route.abort()],
  ])('a page that %s after another was opened does not take its place', async (_, end) => {
    const { userId } = await dashboard.newLearner(['a']);
    const { page } = await dashboard.openAt(`#/users/${userId}/keys`);
    const late = await holdBack(page, 'query Materials');
    await page.evaluate(`location.hash = '#/users/${userId}/materials'`);
    await late.asked;
    await page.evaluate(`location.hash = '#/users/${userId}/keys'`);
    await page.getByText('valid', { exact: true }).waitFor();
    late.letGo(end);
    await late.isTaken();
    expect(await page.getByText('valid', { exact: true }).isVisible()).toBe(true);
    expect(await page.title()).toMatch(/^Keys of /);
  });

  test('the way back closes a dialog, which is about the page that is left', async () => {
    const { userId } = await dashboard.newLearner(['Ohm']);
    const { page } = await dashboard.openAt('#/users');
    await page.evaluate(`location.hash = '#/users/${userId}/materials'`);
    await page.getByRole('button', { name: 'Snooze Ohm' }).click();
    await page.getByRole('dialog').waitFor();
    await page.goBack();
    await page.getByText('All, newest first').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('what is typed into a filter while the list loads stays, and is not taken for what was sent', async () => {
    const { userId } = await dashboard.newLearner(['photosynthesis', 'phonetics']);
    const { page } = await dashboard.openAt(`#/users/${userId}/materials`);
    const text = page.getByLabel('Title, content or source');
    await text.fill('pho');
    const held = await holdBack(page);
    await text.press('Enter');
    await page.locator('main[aria-busy]').waitFor();
    await page.keyboard.type('tosyn');
    await page.keyboard.press('ArrowLeft');
    held.letGo();
    await page.locator('main:not([aria-busy])').waitFor();
    expect(await text.inputValue()).toBe('photosyn');
    await page.keyboard.type('-');
    expect(await text.inputValue()).toBe('photosy-n');
    await text.fill('photo');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'phonetics' }).waitFor({ state: 'detached' });
    await page.goBack();
    await page.getByRole('link', { name: 'phonetics' }).waitFor();
    expect(await text.inputValue()).toBe('pho');
  });

  let dashboard: Given<'dashboard'>['dashboard'];

  function takeServices({ dashboard: shared }: Given<'dashboard'>): void {
    dashboard = shared;
  }

  const call = { requestId: 'test' };
  const review = async (userId: string, materialId: string, count: number) => {
    for (let done = 0; done < count; done += 1)
      await dashboard.gateway.clients.reviews.submitReview({ userId, materialId, quality: 1 }, call);
  };
  const openSmall = async (hash: string) => {
    const { page } = await dashboard.openAt(hash);
    await page.setViewportSize({ width: 1280, height: 400 });
    return page;
  };
  const scrolled = async (page: Page) => Math.round(Number(await page.evaluate('scrollY')));
});
