// The home of the dashboard in Chromium, and the API behind it, against the real system.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../services/platform/postgres/database.ts';
import { countLearners } from '../../services/scheduling/count-learners.ts';
import { hasBrowser } from '../support/browser.ts';
import { openForOwnCounts } from '../support/count-learners.ts';
import { intercept, startTestDashboard, type TestDashboard } from '../support/dashboard.ts';
import { ask as query } from '../support/database.ts';

describe.runIf(hasBrowser('the home'))('the home of all learners', () => {
  beforeAll(startAll);
  afterAll(stopAll);

  test('shows what the API answers, and as of when, without what is not known yet or is switched off', async () => {
    const { page, complaints } = await dashboard.openAt('#/');
    await page.getByText(/^Counted at .* UTC or later/).waitFor();
    const { overview } = (await dashboard.gateway.query(OVERVIEW)).data;
    expect(overview.learners).toBe(30);
    const tiles = await page.locator('.tile .figure-value').allInnerTexts();
    const numbers = tiles.map((text) => Number.parseInt(text.replace(',', ''), 10));
    const month = overview.days.slice(-30) as { reviews: number }[];
    const reviews = month.reduce((sum, day) => sum + day.reviews, 0);
    expect([numbers[0], numbers[1], numbers[2], numbers[3], numbers[5]]).toEqual([
      overview.days.at(-1).learners,
      overview.activeWeek,
      overview.activeMonth,
      Math.round(reviews / 30),
      overview.due,
    ]);
    const drawn = await page.evaluate(
      `Chart.getChart(document.querySelector('[aria-label="Reviews a day"] canvas')).data.datasets[0].data`,
    );
    expect(drawn).toEqual(overview.days.map(({ reviews }: { reviews: number }) => reviews));
    await page.getByText(/^\d+ ended keys? still in use$/).waitFor();
    expect(await page.getByText('with e-mail switched off').count()).toBe(0);
    const name = 'What predicts recall best';
    expect(await page.getByRole('region', { name }).count()).toBe(0);
    // A night has scored the predictors.
    await sql(
      `UPDATE scheduling.prediction_round SET end_time = '2026-11-27T02:03:00Z', best_counts =
       '[{"best":"fsrs","learners":2},{"best":"fsrsTrained","learners":5},{"best":null,"learners":1}]'`,
    );
    await page.evaluate("dispatchEvent(new Event('hashchange'))");
    const card = page.getByRole('region', { name });
    await card.getByText(/^Of 8 learners with enough reviews to say, as of .* UTC/).waitFor();
    const rows = await card.getByRole('row').allInnerTexts();
    expect(rows.map((row) => row.replaceAll('\u00a0', ' ').split(/\s*\t\s*/))).toEqual([
      ['Predictor', 'Learners', 'Share'],
      ['FSRS, trained on the learner', '5', '63 %'],
      ['FSRS', '2', '25 %'],
      ['None is reliably better than the average', '1', '13 %'],
    ]);
    expect(complaints).toEqual([]);
  });

  test('lists learners in each order, page by page, with their users in one call, and all of them while the figures are away', async () => {
    const emails = ({ nodes }: { nodes: Row[] }) => nodes.map(({ user }) => user.email);
    const all = await listed({ first: 100 });
    const first = await listed({ first: 20 });
    const second = await listed({ first: 20, after: first.pageInfo.endCursor });
    expect([...emails(first), ...emails(second)]).toEqual(emails(all));
    const dues = all.nodes.map(({ due }) => due);
    expect(dues).toEqual(dues.toSorted((a, b) => b - a));
    const reviews = (await listed({ first: 100, order: 'REVIEWS' })).nodes.map(({ month }) => month.reviews);
    expect(reviews).toEqual(reviews.toSorted((a, b) => b - a));
    expect(await dashboard.gateway.rpcsOf(() => listed({ first: 20 }))).toEqual([
      'listLearners',
      'batchGetUsers',
    ]);

    const { page } = await dashboard.openAt('#/');
    const shown = () => page.getByRole('table', { name: 'Learners' }).locator('tbody th a').allInnerTexts();
    await page.getByLabel('Sort').waitFor();
    expect(await shown()).toEqual(emails(all).slice(0, 25));
    await page.getByLabel('Sort').selectOption('Most reviews in 30 days');
    const byReviews = emails(await listed({ first: 25, order: 'REVIEWS' }));
    await expect.poll(shown).toEqual(byReviews);
    expect(await page.evaluate('location.hash')).toBe('#/?order=REVIEWS');
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: 'Previous page' }).waitFor();
    expect(await page.getByLabel('Sort').inputValue()).toBe('REVIEWS');
    // A filter begins with its first page.
    await page.getByLabel('Show', { exact: true }).selectOption('Went quiet');
    await expect.poll(() => page.evaluate('location.hash')).toBe('#/?order=REVIEWS&filter=WENT_QUIET');

    const away = { errors: [{ message: 'Away.', extensions: { code: 'UNAVAILABLE' } }] };
    await intercept(page, ['query Home'], (route) => route.fulfill({ json: away }));
    await page.getByRole('link', { name: 'Learning dashboard' }).click();
    await page.getByText('The figures of all learners are not available.').waitFor();
    expect(await page.getByText(/^\d+ ended keys? still in use$/).count()).toBe(1);
    await page.getByRole('link', { name: 'All learners, newest first' }).click();
    await page.getByText('All, newest first').waitFor();
    await page.unroute('**/graphql');

    await dashboard.system.stopAccounts();
    await page.getByRole('link', { name: 'Learning dashboard' }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('The list of learners is not available.').waitFor();
    expect(await page.getByRole('region', { name: 'Reviews a day' }).isVisible()).toBe(true);
    await page.getByRole('link', { name: 'All learners, newest first' }).click();
    await alert.getByText('The list is not available.').waitFor();
    expect(await alert.innerText()).toContain('Other pages may work.');
    await page.getByRole('link', { name: 'Back to the home page' }).click();
    await alert.getByText('The list of learners is not available.').waitFor();
    await dashboard.system.restartAccounts();
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('table', { name: 'Learners' }).waitFor();
  });

  test('says only what is counted of learners who have not reviewed, whom an order leaves out, and leads to a growing backlog', async () => {
    const { userId, email } = await dashboard.system.createUser();
    const titles = Array.from({ length: 20 }, (_, index) => `due ${index}`);
    const create = (title: string) =>
      dashboard.gateway.clients.materials.createMaterial({ userId, title }, { requestId: 'test' });
    for (const title of titles.slice(1)) await create(title);
    await count();
    // As if 10 had been due a week ago.
    await sql(
      `UPDATE scheduling.learners SET days = jsonb_set(days::jsonb, '{dues,7}', '10') WHERE user_id = '${userId}'`,
    );
    await create('due 0');
    await count();
    const { page } = await dashboard.openAt('#/');
    const growing = page.getByRole('link', { name: /with a growing backlog/ });
    await growing.waitFor();
    expect(await page.evaluate('scrollY')).toBe(0);
    await page.setViewportSize({ width: 1280, height: 300 });
    // A click by the pointer would scroll there.
    await growing.dispatchEvent('click');
    const filter = page.getByLabel('Show', { exact: true });
    await expect.poll(() => filter.inputValue()).toBe('BACKLOG_GROWING');
    const isInSight = `document.querySelector('.card[aria-label=Learners]').getBoundingClientRect().top < innerHeight`;
    expect(await page.evaluate(isInSight)).toBe(true);
    const row = page.getByRole('row').filter({ hasText: email });
    await row.getByText('20 (10 a week ago)').waitFor();
    expect(await row.locator('td[data-column="Last review"]').innerText()).toBe('none in 60 days');
    expect(await page.getByLabel('Sort').locator('option').allInnerTexts()).toEqual([
      'Most due',
      'Most reviews in 30 days',
      'Lowest retention (n ≥ 10)',
      'Longest without a review (60 days)',
    ]);
    await page.getByLabel('Sort').selectOption('Most reviews in 30 days');
    await expect.poll(() => page.evaluate('location.hash')).toBe('#/?order=REVIEWS&filter=BACKLOG_GROWING');
  });

  test('tells of the periods before, that a streak of 59 days up to yesterday may be longer, how long one was that has just broken, what is overdue in all, and who went quiet with a backlog', async () => {
    const { userId } = dashboard.seeded;
    // The last of 60 days is today.
    await sql(
      `UPDATE scheduling.overview
       SET summary = jsonb_set(summary::jsonb, '{days,52,due}', '1234') || '{"overdue": 1040, "wentQuiet": 1}'`,
    );
    await sql(
      `UPDATE scheduling.learners SET days = jsonb_set(days::jsonb, '{reviews}', '[0${', 1'.repeat(59)}]'), reviews_month = 1000000
       WHERE user_id = '${userId}'`,
    );
    // The first of 60 days is today.
    const others = await sql(`SELECT user_id FROM scheduling.learners WHERE user_id <> '${userId}' LIMIT 2`);
    const [broken, quiet] = others.map(({ user_id }) => user_id);
    await sql(
      `UPDATE scheduling.learners
       SET days = jsonb_set(days::jsonb, '{reviews}', '[0, 0${', 1'.repeat(7)}${', 0'.repeat(51)}]'), streak_broken = true
       WHERE user_id = '${broken}'`,
    );
    const days = { reviews: [0, 0, 0, 0, 0, 0, 40], recalled: [], dues: [41], overdue: 40 };
    await sql(
      `UPDATE scheduling.learners SET days = '${JSON.stringify(days)}', went_quiet = true, due = 41
       WHERE user_id = '${quiet}'`,
    );
    const { page } = await dashboard.openAt('#/?order=REVIEWS');
    await page.getByText('1,234 a week ago').waitFor();
    await page.locator('.tile', { hasText: 'Overdue' }).getByText('1,040').waitFor();
    const asked = '{ overview { activeWeekBefore activeMonthBefore days { learners } } }';
    const { overview } = (await dashboard.gateway.query(asked)).data;
    expect(await page.locator('.tile dd.muted').allInnerTexts()).toEqual([
      `${overview.days.at(-2).learners} yesterday`,
      `${overview.activeWeekBefore} in the 7 before`,
      `${overview.activeMonthBefore} in the 30 before`,
      expect.stringMatching(/^\d+ in the 30 before$/),
      expect.stringMatching(/^of [\d,]+ reviews; \d+\u00a0% of [\d,]+ before$/),
      '1,234 a week ago',
      'of those due: since before today',
    ]);
    const row = page.getByRole('table', { name: 'Learners' }).locator('tbody tr').first();
    expect(await row.locator('td[data-column="Streak"]').innerText()).toBe('59 days or more');
    await page.getByLabel('Show', { exact: true }).selectOption('Streak just broken');
    // Chance may have broken the streak of another seeded learner after as many days.
    const rowOf = (id?: string) =>
      page.getByRole('row').filter({ has: page.locator(`a[href="#/users/${id}"]`) });
    await rowOf(broken).getByRole('cell', { name: 'broken after 7 days' }).waitFor();
    await page.getByRole('link', { name: 'Learning dashboard' }).click();
    await page.getByRole('link', { name: '1 learner who went quiet' }).click();
    const due = rowOf(quiet).locator('[data-column=Due]');
    expect(await due.innerText()).toBe('41 (40 overdue)');
  });

  test('leads to revoked keys that are still sent, with when and by whom', async () => {
    const timeZone = 'Asia/Kathmandu';
    const { userId, apiKeyId, key } = await dashboard.system.createUser(['profile:read'], timeZone);
    // Those of seeded learners.
    await sql('UPDATE accounts.api_keys SET last_refused_time = NULL');
    const { page, complaints } = await dashboard.openAt('#/');
    await page.getByText('0 ended keys still in use').waitFor();
    await dashboard.system.accounts.apiKeys.revokeApiKey({ apiKeyId }, { requestId: 'test' });
    const send = () =>
      fetch(`${dashboard.system.origins[0]}/v1/me`, { headers: { authorization: `Bearer ${key}` } });
    expect((await send()).status).toBe(401);
    const refused =
      '{ refusedApiKeys { totalCount nodes { apiKey { id refusedMinutes lastRefusedAt } user { id email } } } }';
    const asked = async () => (await dashboard.gateway.query(refused)).data.refusedApiKeys;
    await expect.poll(asked).toMatchObject({
      totalCount: 1,
      nodes: [{ apiKey: { id: apiKeyId, refusedMinutes: 1 }, user: { id: userId } }],
    });
    await page.evaluate("dispatchEvent(new Event('hashchange'))");
    await page.getByRole('link', { name: '1 ended key still in use' }).click();
    await page.getByRole('heading', { name: 'Ended keys still in use' }).waitFor();
    await page.getByRole('link', { name: (await asked()).nodes[0].user.email }).click();
    const time = { hour: '2-digit', minute: '2-digit', timeZone } as const;
    const there = new Date((await asked()).nodes[0].apiKey.lastRefusedAt).toLocaleTimeString('en-GB', time);
    await page.getByText(new RegExp(`^last refused .* ${there}$`)).waitFor();
    // Long after the program has got another key, this one is not said to be in use.
    await sql(
      `UPDATE accounts.api_keys SET last_refused_time = '2025-01-02T03:00:00Z' WHERE api_key_id = '${apiKeyId}'`,
    );
    await page.reload();
    await page.getByText('last refused 2 Jan 2025, 08:45', { exact: true }).waitFor();
    expect(await page.getByText('in use').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('lists sandbox learners where there are no others to count, and says where there is nobody', async () => {
    await sql(`UPDATE scheduling.overview SET summary = jsonb_set(summary, '{learners}', '0')`);
    const { page } = await dashboard.openAt('#/');
    await page.getByRole('table', { name: 'Learners' }).waitFor();
    await sql('DELETE FROM scheduling.learners');
    await page.goto(`${page.url().split('#')[0]}#/?filter=BACKLOG_GROWING`);
    await page.getByText('Show all').waitFor();
    await page.goto(`${page.url().split('#')[0]}#/`);
    await page.getByText('No learner has a material yet.').waitFor();
  });

  let dashboard: TestDashboard;
  let database: Database;

  async function startAll(): Promise<void> {
    dashboard = await startTestDashboard();
    // Figures that a test writes stay until it counts.
    database = await openForOwnCounts(dashboard.system.databaseUrl);
  }

  async function stopAll(): Promise<void> {
    await database.close();
    await dashboard.stop();
  }

  const sql = (text: string) => query<{ user_id: string }>(dashboard.system.databaseUrl, text);
  const count = () => countLearners(database, new Date());
  type Row = { user: { email: string }; due: number; month: { reviews: number } };
  const listed = async (variables: object): Promise<{ nodes: Row[]; pageInfo: { endCursor: string } }> =>
    (await dashboard.gateway.query(LEARNERS, variables)).data.learners;
});

const OVERVIEW = `{ overview { asOf learners activeWeek activeMonth due days { date reviews learners } } }`;
const LEARNERS = `query ($first: Int, $after: String, $order: LearnerOrder) {
  learners(first: $first, after: $after, order: $order) {
    nodes { user { email } due month { reviews recalled retention } } pageInfo { hasNextPage endCursor } } }`;
