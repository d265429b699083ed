// Search and login across the tabs of a browser, in Chromium against the real system.
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { hasBrowser, screenshot } from '../support/browser.ts';
import { EXPIRE, holdBack, logIn, type SharedDashboard } from '../support/dashboard.ts';
import { OPERATOR } from '../support/gateway.ts';

describe.runIf(hasBrowser('search and login'))('in Chromium', () => {
  test.beforeAll(takeServices);

  describe('the search', () => {
    test('is at the key /, and goes to a learner by the beginning of an address, by keyboard alone', async () => {
      const { userId, email } = await dashboard.newLearner();
      const { page, complaints } = await dashboard.openAt('#/users');
      await page.keyboard.press('/');
      await page.keyboard.type(email.slice(0, 12).toUpperCase());
      await results(page).getByText(email).waitFor();
      await screenshot(page, 'dashboard-search');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowUp');
      expect(await page.evaluate('document.activeElement.id')).toBe('search');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: email }).waitFor();
      expect(await page.evaluate('location.hash')).toBe(`#/users/${userId}`);
      expect(complaints).toEqual([]);
    });

    test('finds by what support has at hand: a name, a short ID, a link, a request, and leads to the pages of the only learner', async () => {
      const { userId, apiKeyId, email } = await dashboard.newLearner();
      const query = 'mutation ($input: UpdateUserInput!) { updateUser(input: $input) { user { id } } }';
      const firstName = `Zo${userId.slice(-6)}`;
      const { headers } = await dashboard.gateway.query(query, { input: { userId, firstName } });
      const { page } = await dashboard.openAt('#/users');
      for (const [text, shown] of [
        [firstName.slice(2), `learner ${firstName}`],
        [`…${userId.slice(-8)}`, 'learner'],
        [`${dashboard.gateway.origin}/dashboard#/users/${userId}/keys`, 'learner'],
        [`…${apiKeyId.slice(-8)}`, 'key rmk_live_'],
        [headers.get('x-request-id') ?? '', 'updateUser, '],
      ] as const) {
        await page.getByLabel('Search everything').fill(text);
        await results(page).filter({ hasText: shown }).first().waitFor();
        expect(await results(page).count()).toBe(1);
      }
      const ofRequest = results(page).getByRole('link');
      expect(await ofRequest.getAttribute('href')).toBe(`#/users/${userId}/timeline?kind=OPERATOR`);
      await page.getByLabel('Search everything').fill(email);
      await page.locator('#search-results').getByRole('link', { name: 'Keys', exact: true }).click();
      await page.getByRole('button', { name: 'Create a key' }).waitFor();
      expect(await page.evaluate('location.hash')).toBe(`#/users/${userId}/keys`);
    });

    test('finds a learner, a key and a material by ID, and a key by its beginning', async () => {
      const { userId, apiKeyId, key, email, ids } = await dashboard.newLearner(['Found by its ID']);
      const [materialId = ''] = ids;
      const { page } = await dashboard.openAt('#/users');
      for (const [text, shown, hash] of [
        [userId, 'learner', `#/users/${userId}`],
        [apiKeyId.toUpperCase(), `key ${key.slice(0, 17)}…`, `#/users/${userId}/keys/${apiKeyId}`],
        [materialId, 'material “Found by its ID”', `#/users/${userId}/materials/${materialId}`],
        [key.slice(0, 15), `key ${key.slice(0, 17)}…`, `#/users/${userId}/keys/${apiKeyId}`],
      ] as const) {
        await page.getByLabel('Search everything').fill(text);
        await results(page).first().waitFor();
        expect(await results(page).allInnerTexts()).toEqual([`${email} ${shown}`]);
        await page.keyboard.press('Enter');
        await expect.poll(() => page.evaluate('location.hash')).toBe(hash);
        await expect.poll(() => page.locator('#search-results').isHidden()).toBe(true);
      }
    });

    test('sends no more of a key that is pasted than its beginning', async () => {
      const { key, email } = await dashboard.newLearner();
      const { page } = await dashboard.openAt('#/users');
      const sent: string[] = [];
      page.on('request', (request) => sent.push(request.postData() ?? ''));
      for (const before of ['', 'Authorization: Bearer ']) {
        sent.length = 0;
        await page.getByLabel('Search everything').fill(` ${before}${key}`);
        await expect.poll(() => sent.join()).toContain(key.slice(0, 17));
        await results(page).getByText(email).waitFor();
        expect(sent.join()).not.toContain(key.slice(0, 18));
        expect(await page.getByLabel('Search everything').inputValue()).toBe(key.slice(0, 17));
        await page.getByLabel('Search everything').fill('');
      }
    });

    test('goes by Enter to what is asked for, and never to what was found before', async () => {
      const [found, asked] = [await dashboard.newLearner(), await dashboard.newLearner()];
      const { page } = await dashboard.openAt('#/users');
      const search = page.getByLabel('Search everything');
      await search.fill(found.email);
      await results(page).getByText(found.email).click();
      await page.getByRole('heading', { name: found.email }).waitFor();
      await page.goto(`${dashboard.gateway.origin}/dashboard#/users`);
      await page.getByRole('heading', { name: 'All learners' }).waitFor();
      await search.press('Enter');
      expect(await page.evaluate('location.hash')).toBe('#/users');
      const held = await holdBack(page);
      await search.fill(asked.email);
      await search.press('Enter');
      await search.press('Enter');
      held.letGo();
      await page.getByRole('heading', { name: asked.email }).waitFor();
      await page.goBack();
      await expect.poll(() => page.evaluate('location.hash')).toBe('#/users');
    });

    test('asks again by Enter after it failed, and goes to what it then finds', async () => {
      const { email, userId } = await dashboard.newLearner();
      const { page } = await dashboard.openAt('#/users');
      await page.route('**/graphql', (route) => route.abort());
      const search = page.getByLabel('Search everything');
      await search.fill(email);
      await page.locator('#search-results').getByText('The gateway cannot be reached.').waitFor();
      await page.unroute('**/graphql');
      await search.press('Enter');
      await page.getByRole('heading', { name: email }).waitFor();
      expect(await page.evaluate('location.hash')).toBe(`#/users/${userId}`);
    });

    test('shows what was asked for last, though what was asked before is found later', async () => {
      const [before, asked] = [await dashboard.newLearner(), await dashboard.newLearner()];
      const { page } = await dashboard.openAt('#/users');
      const late = await holdBack(page, before.email);
      const search = page.getByLabel('Search everything');
      await search.fill(before.email);
      await late.asked;
      await search.fill(asked.email);
      await results(page).getByText(asked.email).waitFor();
      late.letGo();
      await late.isTaken();
      expect(await results(page).allInnerTexts()).toEqual([`${asked.email} learner`]);
    });

    test('keeps the focus while a page comes, and leaves a / to the field where it is typed', async () => {
      const { userId } = await dashboard.newLearner();
      const { page } = await dashboard.openAt(`#/users/${userId}/materials`);
      const filter = page.getByLabel('Title, content or source');
      await filter.click();
      await page.keyboard.type('m/s');
      expect(await filter.inputValue()).toBe('m/s');
      const held = await holdBack(page, 'query Keys');
      await page.getByRole('link', { name: 'Keys' }).click();
      await page.getByRole('status', { name: 'Loading' }).waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type('no');
      held.letGo();
      await page.getByText('valid', { exact: true }).waitFor();
      await page.keyboard.type('body@');
      expect(await page.getByLabel('Search everything').inputValue()).toBe('nobody@');
    });

    test('says that it searches, so that what it then finds is heard, and shows nothing found before', async () => {
      const { email } = await dashboard.newLearner();
      const { page } = await dashboard.openAt('#/users');
      const search = page.getByLabel('Search everything');
      await search.fill(email);
      await results(page).getByText(email).waitFor();
      await page.keyboard.press('Escape');
      const held = await holdBack(page);
      await search.fill('nobody@');
      await page.getByRole('status').getByText('Searching …').waitFor();
      expect(await results(page).count()).toBe(0);
      held.letGo();
      await page.getByRole('status').getByText('Nothing found.').waitFor();
    });

    test('says what it can find when it finds nothing, and Esc closes it', async () => {
      const { page } = await dashboard.openAt('#/users');
      await page.getByLabel('Search everything').fill('nobody@');
      await page.getByText('Nothing found. Search for a part of an e-mail address or name').waitFor();
      await page.keyboard.press('Escape');
      expect(await page.locator('#search-results').isHidden()).toBe(true);
    });
  });

  describe('the login', () => {
    const address = (path: string) => `${dashboard.gateway.origin}${path}`;
    const isLoggedIn = (page: Page) => page.locator('header').getByText('Log out').waitFor();
    const asksForToken = (page: Page) => page.getByLabel('Gateway token').waitFor();

    test('holds in a tab opened by Ctrl-click and in one opened by hand, and in GraphiQL', async () => {
      const { userId, email } = await dashboard.newLearner();
      const { page } = await dashboard.openAt(`#/users/${userId}`);
      const opened = page.context().waitForEvent('page');
      await page.getByRole('link', { name: 'Materials' }).click({ modifiers: ['Control'] });
      const other = await opened;
      await other.getByRole('heading', { name: email }).waitFor();
      const third = await page.context().newPage();
      await third.goto(address(`/dashboard#/users/${userId}`));
      await third.getByRole('heading', { name: email }).waitFor();
      await third.goto(address('/'));
      await third.getByText('The token is in use').waitFor();
    });

    test('ends in all tabs at once, and begins again in all of them', async () => {
      const { page } = await dashboard.openAt('#/');
      const other = await page.context().newPage();
      await other.goto(address('/dashboard'));
      await isLoggedIn(other);
      await other.getByRole('button', { name: 'Log out' }).click();
      await asksForToken(other);
      await asksForToken(page);
      expect(await page.evaluate('sessionStorage.length')).toBe(0);
      await logIn(page, OPERATOR);
      await isLoggedIn(other);
    });

    test('ends also in a tab that was elsewhere at the time, which then passes nothing on', async () => {
      const { page } = await dashboard.openAt('#/');
      const other = await page.context().newPage();
      await other.goto(address('/dashboard'));
      await isLoggedIn(other);
      await other.goto(address('/none'));
      await page.getByRole('button', { name: 'Log out' }).click();
      await asksForToken(page);
      await other.goto(address('/dashboard'));
      await asksForToken(other);
      await page.reload();
      await asksForToken(page);
      await logIn(page, OPERATOR);
      await isLoggedIn(other);
      await other.reload();
      await isLoggedIn(other);
    });

    test('does not pass on a token that the gateway has refused', async () => {
      const { page } = await dashboard.open();
      await page.goto(address('/dashboard'));
      await page.route('**/graphql', () => {});
      await logIn(page, 'wrong'.repeat(10));
      const other = await page.context().newPage();
      await other.goto(address('/dashboard'));
      await asksForToken(other);
      expect(await other.evaluate('sessionStorage.length')).toBe(0);
    });

    test('stays where a link says that a sign-in has failed', async () => {
      const { page } = await dashboard.openAt('#/');
      await page.goto(address('/dashboard/?error=access_denied'));
      await isLoggedIn(page);
    });

    test('is tried with one token at a time', async () => {
      const { page } = await dashboard.open();
      await page.goto(address('/dashboard'));
      const held = await holdBack(page);
      await logIn(page, 'wrong'.repeat(10));
      await page.getByLabel('Gateway token').fill(OPERATOR);
      await page.getByLabel('Gateway token').press('Enter');
      held.letGo();
      await page.getByText('The gateway does not know this token.').waitFor();
      await page.getByRole('button', { name: 'Log in' }).click();
      await isLoggedIn(page);
    });

    test('that has expired in all tabs and begun again in one is asked for in no other', async () => {
      const { page } = await dashboard.openAt('#/');
      const other = await page.context().newPage();
      await other.goto(address('/dashboard'));
      await isLoggedIn(other);
      for (const tab of [page, other]) await tab.evaluate(EXPIRE);
      await other.evaluate("location.hash = '#/users'");
      // No tab has another token than the one that has expired.
      await other.getByText('The login is no longer valid').waitFor();
      await logIn(other, OPERATOR);
      await isLoggedIn(other);
      await page.evaluate("location.hash = '#/users'");
      await page.getByRole('heading', { name: 'Learners' }).waitFor();
    });

    test('reaches the other tabs as soon as the gateway has accepted it, though it refuses it for the page', async () => {
      const { page } = await dashboard.open();
      await page.goto(address('/dashboard'));
      const other = await page.context().newPage();
      await other.goto(address('/dashboard'));
      await asksForToken(other);
      await page.route('**/graphql', (route) =>
        route.request().postData()?.includes('{ caller {')
          ? route.continue()
          : route.fulfill({ status: 401, json: {} }),
      );
      await logIn(page, OPERATOR);
      await page.getByText('The login is no longer valid').waitFor();
      await isLoggedIn(other);
      expect(await other.evaluate("sessionStorage.getItem('gateway-token')")).toBe(OPERATOR);
    });

    test('is gone when the last tab is closed', async () => {
      const { page } = await dashboard.openAt('#/');
      const context = page.context();
      await page.close();
      const next = await context.newPage();
      await next.goto(address('/dashboard'));
      await asksForToken(next);
    });
  });

  let dashboard: SharedDashboard;

  function takeServices({ dashboard: shared }: Given<'dashboard'>): void {
    dashboard = shared;
  }

  const results = (page: Page) => page.locator('#search-results li');
});
