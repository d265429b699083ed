// Lists of materials and keys in the dashboard: actions on several, filters that stay, services that do not answer.
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { hasBrowser, screenshot } from '../support/browser.ts';
import { countRequests, EXPIRE, holdBack, intercept, rowsOf } from '../support/dashboard.ts';

describe.runIf(hasBrowser('lists'))('in the dashboard', () => {
  test.beforeAll(takeServices);

  test('an operator snoozes and archives several materials together, and is told of each what became of it, whatever the page showed', async () => {
    const { userId, ids } = await dashboard.newLearner(['a', 'b', 'c', 'd', 'e']);
    const { page } = await dashboard.openAt(`#/users/${userId}/materials`);
    await page.getByRole('button', { name: 'Archive selected' }).click();
    await page.getByText('Select active materials first.').waitFor();
    for (const title of ['a', 'b', 'e']) await select(page, title);
    await screenshot(page, 'dashboard-bulk');
    const snoozeUntilTime = { seconds: Date.parse('2098-01-01T00:00:00Z') / 1000, nanos: 0 };
    await dashboard.gateway.clients.snoozes.snoozeMaterials(
      { userId, materialIds: [ids[0] ?? ''], snoozeUntilTime },
      call,
    );
    await page.getByRole('button', { name: 'Snooze selected' }).click();
    await page.getByRole('dialog').getByText('3 materials').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Snooze' }).click();
    await page.getByText(/^Snoozed until .*: 3 materials$/).waitFor();
    expect(await stateOf(userId)).toEqual(['e later', 'd due', 'c due', 'b later', 'a later']);
    expect(await results(page)).toEqual([
      ['e', expect.stringMatching(/^Snoozed until /)],
      ['b', expect.stringMatching(/^Snoozed until /)],
      ['a', 'No effect: due later anyway'],
    ]);
    await select(page, 'c');
    await select(page, 'a');
    await page.getByRole('button', { name: 'Archive selected' }).click();
    await page.getByText('Archived: 2 materials').waitFor();
    expect(await stateOf(userId)).toEqual(['e later', 'd due', 'c archived', 'b later', 'a archived']);
    expect(await results(page)).toEqual([
      ['c', 'Archived'],
      ['a', 'Archived'],
    ]);
  });

  test('what is done to all that is shown leaves out what is archived, a second press selects nothing, and a failure midway shows what was done', async () => {
    const { userId, ids } = await dashboard.newLearner(['a', 'b', 'c']);
    await dashboard.gateway.clients.materials.archiveMaterial({ userId, materialId: ids[2] ?? '' }, call);
    const { page } = await dashboard.openAt(`#/users/${userId}/materials?state=any`);
    let sent = 0;
    await intercept(page, ['mutation Archive'], (route) => {
      sent += 1;
      return sent === 1 ? route.continue() : route.abort();
    });
    const selectAll = page.getByRole('button', { name: 'Select all' });
    await selectAll.click();
    await selectAll.click();
    await page.getByRole('button', { name: 'Snooze selected' }).click();
    await page.getByText('Select active materials first.').waitFor();
    await selectAll.click();
    await page.getByRole('button', { name: 'Archive selected' }).click();
    await page.locator('#status').getByText('Archived 1 of 2. The gateway cannot be reached.').waitFor();
    await page.getByRole('button', { name: 'Restore b' }).waitFor();
    expect(await stateOf(userId)).toEqual(['c archived', 'b archived', 'a due']);
    expect(await results(page)).toEqual([
      ['b', 'Archived'],
      ['a', expect.stringMatching(/^The gateway cannot be reached\./)],
    ]);
  });

  test('a second press of “Archive selected” while the first is at work archives nothing twice', async () => {
    const { userId } = await dashboard.newLearner(['a', 'b']);
    const { page } = await dashboard.openAt(`#/users/${userId}/materials`);
    const sent = countRequests(page, 'mutation Archive');
    await page.getByRole('button', { name: 'Select all' }).click();
    await page.getByRole('button', { name: 'Archive selected' }).dblclick();
    expect(await results(page)).toEqual([
      ['b', 'Archived'],
      ['a', 'Archived'],
    ]);
    await page.getByText('This learner has no active materials.').waitFor();
    expect([sent(), await page.getByRole('dialog').count()]).toEqual([2, 0]);
  });

  test('a second press of “Archive” of one material while the first is at work sends nothing', async () => {
    const { userId } = await dashboard.newLearner(['a']);
    const { page } = await dashboard.openAt(`#/users/${userId}/materials`);
    const sent = countRequests(page, 'mutation Archive');
    await page.getByRole('button', { name: 'Archive a' }).dblclick();
    await page.getByText('This learner has no active materials.').waitFor();
    expect(sent()).toBe(1);
  });

  test('a snooze until a date begins with tomorrow, also on a day of 25 hours', async () => {
    const { userId } = await dashboard.newLearner(['a'], 'Europe/Berlin');
    const { page } = await dashboard.openAt(`#/users/${userId}/materials`, { own: {} });
    await page.clock.setFixedTime('2027-10-30T22:30:00Z');
    await page.getByRole('button', { name: 'Snooze a' }).click();
    expect(await page.getByLabel('Date and time').inputValue()).toBe('2027-11-01T09:00');
  });

  test('a snooze of what is due in six days says that it had no effect, and refuses a year of five digits, and no date', async () => {
    const { userId, ids } = await dashboard.newLearner(['a']);
    const [materialId = ''] = ids;
    for (let review = 0; review < 2; review += 1)
      await dashboard.gateway.clients.reviews.submitReview({ userId, materialId, quality: 4 }, call);
    const { page } = await dashboard.openAt(`#/users/${userId}/materials`);
    await page.getByRole('button', { name: 'Snooze a' }).click();
    const send = page.getByRole('dialog').getByRole('button', { name: 'Snooze' });
    const date = page.getByLabel('Date and time');
    await date.fill('20266-01-01T09:00');
    await send.click();
    expect(await page.locator('dialog input:invalid').count()).toBe(1);
    await date.fill('');
    await send.click();
    await page.getByText('The date is missing. Enter a date and a time.').waitFor();
    await page.getByLabel('Until tomorrow, 09:00').check();
    await send.click();
    await page.getByText('No effect: due later anyway: a').waitFor();
  });

  test('a notice that comes again stays as long as the first did', async () => {
    const { userId } = await dashboard.newLearner(['a']);
    const { page } = await dashboard.openAt(`#/users/${userId}/materials`, { own: {} });
    await page.clock.install();
    const isShown = () => page.locator('#status').evaluate(({ classList }) => classList.contains('shown'));
    const announced = `new Promise((resolve) => {
      const observer = new MutationObserver(() => resolve(observer.disconnect()));
      observer.observe(document.getElementById('status'), { childList: true });
    })`;
    const press = async () => {
      const noticed = page.evaluate(announced);
      await page.getByRole('button', { name: 'Archive selected' }).click();
      await noticed;
    };
    await press();
    await page.clock.runFor(5000);
    await press();
    await page.clock.runFor(2000);
    expect(await isShown()).toBe(true);
    await page.clock.runFor(4000);
    expect(await isShown()).toBe(false);
  });

  test('a learner’s text turns none of the words around it, and begins where its script does', async () => {
    const { userId } = await dashboard.newLearner([]);
    const { materials, reviews, snoozes } = dashboard.gateway.clients;
    const made = { userId, title: 'photo\u202Egpj.exe', content: '\u0645\u0627!' };
    const { material } = await materials.createMaterial(made, call);
    const materialId = material?.materialId ?? '';
    await reviews.submitReview({ userId, materialId, quality: 5 }, call);
    const reason = `\u202E${'r'.repeat(400)}`;
    await snoozes.snoozeMaterials(
      { userId, materialIds: [materialId], preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone: 'UTC', reason },
      call,
    );
    const { page } = await dashboard.openAt(`#/users/${userId}/timeline?kind=REVIEW`);
    await page.getByText(': grade 5, due again after 1 day').waitFor();
    const places = `(() => {
      const link = document.querySelector('td a');
      const words = document.createRange();
      words.selectNode(link.nextSibling);
      return words.getBoundingClientRect().left >= link.getBoundingClientRect().right - 1;
    })()`;
    expect(await page.evaluate(places)).toBe(true);
    await page.goto(`${dashboard.gateway.origin}/dashboard#/users/${userId}/materials/${materialId}`);
    const snoozed = page.getByRole('region', { name: 'Snoozes: table' });
    await snoozed.waitFor();
    expect(await snoozed.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    const fromRight = `(() => {
      const prose = document.querySelector('.prose');
      const text = document.createRange();
      text.selectNodeContents(prose);
      return Math.round(prose.getBoundingClientRect().right - text.getBoundingClientRect().right);
    })()`;
    expect(await page.evaluate(fromRight)).toBe(0);
  });

  test('another page of a list begins with its first row, and an action leaves the page and the focus where they were', async () => {
    const { userId } = await dashboard.newLearner(Array.from({ length: 30 }, (_, index) => `m${index}`));
    const { page } = await dashboard.openAt(`#/users/${userId}/materials`);
    await page.setViewportSize({ width: 1280, height: 300 });
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: 'Previous page' }).waitFor();
    const top = `document.querySelector('.card:has(table)').getBoundingClientRect().top`;
    expect(Math.round(Number(await page.evaluate(top)))).toBe(0);
    await page.getByRole('button', { name: 'Snooze m0' }).click();
    const before = await page.evaluate('scrollY');
    await page.getByRole('dialog').getByRole('button', { name: 'Snooze' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(before).toBeGreaterThan(0);
    expect(await page.evaluate('scrollY')).toBe(before);
    const focused = () => page.evaluate("document.activeElement.getAttribute('aria-label')");
    await expect.poll(focused).toBe('Snooze m0');
    await page.getByLabel('State').selectOption('All');
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('button', { name: 'Archive m0' }).press('Enter');
    await page.getByRole('button', { name: 'Restore m0' }).waitFor();
    await expect.poll(focused).toBe('Restore m0');
  });

  test('an action that fails after its dialog was closed says so', async () => {
    const { userId } = await dashboard.newLearner(['a']);
    const { page } = await dashboard.openAt(`#/users/${userId}/materials`);
    await page.getByRole('button', { name: 'Snooze a' }).click();
    const sent = await holdBack(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Snooze' }).click();
    await sent.asked;
    // So that a second click does not do it twice.
    expect(await page.getByRole('dialog').getByRole('button', { name: 'Snooze' }).isDisabled()).toBe(true);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    sent.letGo((route) => route.abort());
    await page.locator('#status').getByText('The gateway cannot be reached.').waitFor();
  });

  test('a page whose last row is archived leads to the first page with the same filters', async () => {
    const { userId } = await dashboard.newLearner(Array.from({ length: 26 }, (_, index) => `m${index}`));
    const { page } = await dashboard.openAt(`#/users/${userId}/materials?q=m&type=SIMPLE`);
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('button', { name: 'Archive m0' }).click();
    await page.getByText('Nothing is left on this page.').waitFor();
    await page.getByRole('link', { name: 'First page' }).click();
    await page.getByRole('link', { name: 'm25' }).waitFor();
    expect(await page.evaluate('location.hash')).toBe(`#/users/${userId}/materials?q=m&type=SIMPLE`);
  });

  test.each([
    ['users', 'query Users', 'list'],
    ['audit', 'query Audit', 'list'],
    ['expiring-keys', 'query ExpiringKeys', 'list'],
    ['', 'query Learners', 'learners'],
  ])('a page of #/%s whose rows have gone leads to the first page', async (path, query, list) => {
    const { page } = await dashboard.openAt('#/users');
    const pageInfo = { hasNextPage: false, endCursor: null };
    const json = { data: { [list]: { totalCount: 1, nodes: [], pageInfo } } };
    await intercept(page, [query], (route) => route.fulfill({ json }));
    await page.evaluate(`location.hash = '#/${path}?after=x'`);
    await page.getByText('Nothing is left on this page.').waitFor();
    const first = page.getByRole('link', { name: 'First page' });
    expect(await first.count()).toBe(1);
    expect(await first.getAttribute('href')).toBe(`#/${path}?`);
  });

  test('a login that expires amid several actions says so at the login', async () => {
    const { userId } = await dashboard.newLearner(['a', 'b']);
    const { page } = await dashboard.openAt(`#/users/${userId}/materials`);
    await page.getByRole('button', { name: 'Select all' }).click();
    await page.evaluate(EXPIRE);
    await page.getByRole('button', { name: 'Archive selected' }).click();
    await page.getByText('Archived 0 of 2.').waitFor();
    const told = page.getByRole('main').getByRole('alert');
    expect(await told.innerText()).toBe(
      'The login is no longer valid. Log in again to continue where you were.',
    );
  });

  test('a search has an order of its own, refuses a text that is too long beside its field, and is there again after a look at another page', async () => {
    const { userId } = await dashboard.newLearner(['kept']);
    const { page } = await dashboard.openAt(`#/users/${userId}/materials?q=kep&state=due&order=EASE`);
    const [search, kept] = [
      page.getByLabel('Title, content or source'),
      page.getByRole('link', { name: 'kept' }),
    ];
    await kept.waitFor();
    expect(await page.getByLabel('Sort').locator('option').allInnerTexts()).toEqual([
      'Matches in titles first',
    ]);
    await search.fill('é'.repeat(513));
    await search.press('Enter');
    await page.getByText('query must have at most 1024 bytes in UTF-8.').waitFor();
    await search.fill('kep');
    await search.press('Enter');
    await kept.click();
    await page.getByText('If graded now').waitFor();
    await page.getByRole('link', { name: 'Materials' }).click();
    await kept.waitFor();
    expect(await page.getByLabel('State').inputValue()).toBe('due');
    expect(await search.inputValue()).toBe('kep');
  });

  test('the same search again shows what has come since', async () => {
    const { userId } = await dashboard.newLearner(['kept']);
    const { page } = await dashboard.openAt(`#/users/${userId}/materials?q=kept&state=active`);
    await page.getByRole('link', { name: 'kept', exact: true }).waitFor();
    const title = 'kept since';
    await dashboard.gateway.clients.materials.createMaterial({ userId, title }, { requestId: 'test' });
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByRole('link', { name: title }).waitFor();
  });

  test('the old rows dim while a filter loads, and long words wrap', async () => {
    const { userId } = await dashboard.newLearner(['w'.repeat(240)]);
    await dashboard.gateway.mutate('updateUser', { userId, firstName: 'W'.repeat(100) });
    const { page } = await dashboard.openAt(`#/users/${userId}/materials`);
    await page.setViewportSize({ width: 360, height: 740 });
    await page.getByRole('link', { name: 'w'.repeat(240) }).waitFor();
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    const held = await holdBack(page);
    await page.getByLabel('State').selectOption('Due now');
    const opacity = () => page.evaluate(`getComputedStyle(document.querySelector('main section')).opacity`);
    await expect.poll(opacity).toBe('0.5');
    held.letGo();
    await expect.poll(opacity).toBe('1');
  });

  test('a service that hangs is asked once, so that the rest of the home is not kept waiting', async () => {
    const { page } = await dashboard.openAt('#/users');
    let asked = 0;
    await intercept(page, ['query EmailOff'], async (route) => {
      asked += 1;
      await new Promise((resolve) => setTimeout(resolve, 2500));
      await route.fulfill({ json: { errors: [{ message: 'Away.', extensions: { code: 'UNAVAILABLE' } }] } });
    });
    await page.getByRole('link', { name: 'Learning dashboard' }).click();
    await page.getByRole('heading', { name: 'Learners', exact: true, level: 1 }).waitFor();
    expect(asked).toBe(1);
  });

  test('a new key is shown at once, also while the list of keys is slow, and stays in sight when another tab logs out', async () => {
    const { userId } = await dashboard.newLearner([]);
    const { page } = await dashboard.openAt(`#/users/${userId}/keys`);
    await page.getByRole('button', { name: 'Create a key' }).click();
    const list = await holdBack(page, 'query Keys');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    const key = page.getByLabel('Key “without a name”');
    await key.waitFor();
    expect(await page.getByRole('dialog').count()).toBe(1);
    list.letGo();
    await expect.poll(() => page.getByText('valid', { exact: true }).count()).toBe(2);
    const other = await page.context().newPage();
    await other.goto(`${dashboard.gateway.origin}/dashboard`);
    await other.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Gateway token').waitFor();
    expect(await key.inputValue()).toMatch(/^rmk_live_\w{49}$/);
  });

  test('a revoked key looks revoked, and to revoke or rotate one shows its last use', async () => {
    const { userId, apiKeyId } = await dashboard.newLearner([]);
    const other = await dashboard.system.createKey(userId, ['profile:read']);
    await dashboard.system.accounts.apiKeys.verifyApiKey({ key: other.key }, call);
    await dashboard.system.accounts.apiKeys.revokeApiKey({ apiKeyId }, call);
    const { page } = await dashboard.openAt(`#/users/${userId}/keys`);
    await page.locator('s').getByText('without a name').waitFor();
    await expect
      .poll(async () => {
        await page.reload();
        await page.getByRole('button', { name: 'Revoke' }).click();
        return page.getByRole('dialog').innerText();
      })
      .toMatch(/It was last used .* \(now\)\./);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('dialog').getByText('It was last used').waitFor();
  });

  test('a title of invisible characters is "(no title)" wherever it is a link', async () => {
    const { userId } = await dashboard.newLearner(['\u200b ']);
    const { page } = await dashboard.openAt(`#/users/${userId}/materials`);
    await page.getByRole('link', { name: '(no title)' }).click();
    await page.getByRole('heading', { name: '(no title)' }).waitFor();
  });

  test('a key with a name of invisible characters is "without a name"', async () => {
    const { userId } = await dashboard.newLearner();
    const { apiKeys } = dashboard.gateway.clients;
    const { apiKey } = await apiKeys.createApiKey({ userId, name: '\u200b ' }, call);
    const { page } = await dashboard.openAt(`#/users/${userId}/keys`);
    const links = page.getByRole('link', { name: 'without a name' });
    await links.first().waitFor();
    expect(await links.count()).toBe(2);
    await page.getByRole('searchbox', { name: 'Search everything' }).fill(apiKey?.keyPrefix ?? '');
    await page.getByRole('link', { name: new RegExp(`key ${apiKey?.keyPrefix}…$`) }).waitFor();
  });

  let dashboard: Given<'dashboard'>['dashboard'];

  function takeServices({ dashboard: shared }: Given<'dashboard'>): void {
    dashboard = shared;
  }

  const call = { requestId: 'test' };
  const stateOf = async (userId: string) => {
    const query = `query ($id: ID) { user(id: $id) { materials(state: ANY) { nodes { title archivedAt isDue } } } }`;
    const { nodes } = (await dashboard.gateway.query(query, { id: userId })).data.user.materials;
    return nodes.map(
      ({ title, archivedAt, isDue }: { title: string; archivedAt: string | null; isDue: boolean }) =>
        [title, archivedAt === null ? (isDue ? 'due' : 'later') : 'archived'].join(' '),
    );
  };
  /** What a bulk action says of each row; closes it. */
  const results = async (page: Page) => {
    const told = await rowsOf(page, 'Results');
    await page.getByRole('button', { name: 'Done' }).click();
    return told;
  };
  const select = (page: Page, title: string) =>
    page.getByRole('checkbox', { name: `Select ${title}` }).check();
});
