// What people do with the dashboard, in a real browser against the real system with seeded learners.
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { createApi } from '../support/api.ts';
import { hasBrowser } from '../support/browser.ts';
import { EXPIRE, holdBack, logIn, type SharedDashboard } from '../support/dashboard.ts';
import { ask as query } from '../support/database.ts';
import { OPERATOR, VIEWER } from '../support/gateway.ts';

describe.runIf(hasBrowser('the dashboard'))('the dashboard in Chromium', () => {
  test.beforeAll(takeServices);

  test('lets in a good token only, and keeps it out of cookies and of what outlives the browser', async () => {
    const { page, hosts, complaints } = await dashboard.open();
    await page.goto(`${dashboard.gateway.origin}/dashboard#/users`);
    await page.getByLabel('Gateway token').waitFor();
    // The focus is on the field, where what comes next replaces a wrong token.
    const enter = async (token: string) => {
      await page.keyboard.insertText(token);
      await page.keyboard.press('Enter');
    };
    await enter('wrong'.repeat(10));
    await page.getByText('The gateway does not know this token').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await enter(OPERATOR);
    await page.getByText('olga, operator').waitFor();
    const kept = await page.evaluate(
      "[sessionStorage.getItem('gateway-token'), document.cookie, JSON.stringify(localStorage)]",
    );
    expect(kept).toEqual([OPERATOR, '', expect.not.stringContaining(OPERATOR)]);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Gateway token').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    // Whoever logs in next does not begin where this person was.
    expect(await page.evaluate('location.hash')).toBe('#/');
    expect([...hosts]).toEqual([new URL(dashboard.gateway.origin).host]);
    expect(complaints).toEqual([]);
  });

  test('says that it does not know a token that was copied with an invisible character', async () => {
    const { page } = await dashboard.open();
    await page.goto(`${dashboard.gateway.origin}/dashboard`);
    await logIn(page, `${OPERATOR}\u200B`);
    await page.getByText('The gateway does not know this token').waitFor();
  });

  test('lets the keyboard skip the header, and stay on the page', async () => {
    const { page } = await dashboard.openAt('#/users');
    await page.getByText('All, newest first').waitFor();
    await page.getByRole('link', { name: 'Skip to content' }).press('Enter');
    expect(await page.evaluate('[location.hash, document.activeElement.id]')).toEqual(['#/users', 'main']);
    expect(await page.getByText('All, newest first').isVisible()).toBe(true);
  });

  test('pages through all learners, forward and back, and says that a search finds only the first of them', async () => {
    const { page } = await dashboard.openAt('#/users');
    const shown = () => page.locator('tbody th a').allInnerTexts();
    const asked =
      'query ($after: String) { users(first: 25, after: $after) { nodes { email } pageInfo { endCursor } } }';
    const list = async (after?: string) => (await dashboard.gateway.query(asked, { after })).data.users;
    const emails = ({ nodes }: { nodes: { email: string }[] }) => nodes.map(({ email }) => email);
    const first = await list();
    const second = await list(first.pageInfo.endCursor);
    await page.getByLabel('Search everything').fill('learner');
    await page.getByText('The first 10 found:').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(shown).toEqual(emails(first));
    await page.getByRole('link', { name: 'Next page' }).click();
    await expect.poll(shown).toEqual(emails(second));
    await page.getByRole('link', { name: 'Previous page' }).click();
    await expect.poll(shown).toEqual(emails(first));
  });

  test('draws what the API answers: tiles, charts, what hovering tells, and tables', async () => {
    const { userId } = dashboard.seeded;
    const { page } = await dashboard.openAt(path(userId));
    await page.getByRole('region', { name: 'Forecast', exact: true }).waitFor();
    const { window, both, year } = (await dashboard.gateway.query(FIGURES, { id: userId })).data.user;
    type Recall = { reviews: number; recalled: number };
    const percent = (share: number | null) => (share === null ? null : Math.round(share * 100));
    const counts = (rows: { count: number }[]) => rows.map(({ count }) => count);
    const shareOf = (all: { count: Recall }[]) => {
      const sum = (field: keyof Recall) => all.reduce((total, { count }) => total + count[field], 0);
      return { n: sum('reviews'), share: percent(sum('recalled') / sum('reviews')) };
    };
    const ofBands = (bands: { band: string; count: Recall }[], ...names: string[]) =>
      shareOf(bands.filter(({ band }) => names.includes(band)));
    const mature = (bands: { band: string; count: Recall }[]) =>
      ofBands(bands, 'DAYS_21_TO_89', 'DAYS_90_AND_MORE');

    const tile = (name: string) =>
      page.locator('.tile').filter({ hasText: name }).locator('dd').allInnerTexts();
    const { forecast, retention } = window;
    const today = year.activity.days.at(-1).count;
    expect((await tile('Due now'))[0]).toBe(`${forecast.dueNow}`);
    expect((await tile('Overdue'))[0]).toBe(`${forecast.overdue}`);
    const yesterday = year.activity.days.at(-2).count;
    // A seeded learner may have paused for days.
    const before = today + yesterday > 0 ? `${yesterday} yesterday` : expect.stringMatching(/^last on /);
    expect(await tile('Reviews today')).toEqual([`${today}`, before]);
    expect(await tile('Reviews, 30 days')).toEqual([
      `${retention.total.reviews}`,
      `${both.retention.total.reviews - retention.total.reviews} in the 30 before`,
    ]);
    const { currentStreakDays, longestStreakDays } = year.activity;
    expect(await tile('Streak')).toEqual([
      expect.stringMatching(new RegExp(`^${currentStreakDays} day`)),
      expect.stringMatching(new RegExp(`^longest ${longestStreakDays} day`)),
    ]);
    expect((await tile('Retention, all'))[0]).toBe(`${percent(retention.total.retention)}\u00a0%`);
    const [ripe, ripeInBoth] = [mature(retention.bands), mature(both.retention.bands)];
    const [share, more] = await tile('Mature (interval of 21 days or more)');
    expect(share).toBe(`${ripe.share}\u00a0%`);
    expect(more).toMatch(
      new RegExp(`^of ${ripe.n} reviews?; before: \\d+\u00a0% of ${ripeInBoth.n - ripe.n}$`),
    );

    const young = ofBands(retention.bands, 'DAYS_1_TO_6', 'DAYS_7_TO_20');
    expect((await tile('Young (interval under 21 days)'))[1]).toMatch(
      new RegExp(`^of ${young.n} reviews?; `),
    );

    const drawn = (name: string, set = 0) =>
      page.evaluate(
        `Chart.getChart(document.querySelector('[aria-label="${name}"] canvas')).data.datasets[${set}].data`,
      );
    expect(await drawn('Forecast')).toEqual(counts(forecast.days));
    const inAll = counts(forecast.days).reduce((sum, count) => sum + count, forecast.overdue);
    expect(((await drawn('Forecast', 1)) as number[]).at(-1)).toBe(inAll);
    expect(await drawn('Ease factors')).toEqual(counts(window.distributions.easeFactors));
    expect(await drawn('Intervals')).toEqual(counts(window.distributions.intervals));
    const bands: { count: Recall & { retention: number | null } }[] = retention.bands;
    expect(await drawn('Retention by interval')).toEqual(bands.map(({ count }) => percent(count.retention)));
    const labels = `Chart.getChart(document.querySelector('[aria-label="Retention by interval"] canvas')).data.labels`;
    expect(await page.evaluate(labels)).toContainEqual(['7–20\u00a0d', `n = ${bands[2]?.count.reviews}`]);
    // Whole weeks of twice 30 days, today last.
    const weeks = (await drawn('Retention over time')) as unknown[];
    const { share: lastWeek } = shareOf(retention.days.slice(-7));
    // A week without reviews has no point.
    expect([weeks.length, weeks.at(-1)]).toEqual([8, Number.isNaN(lastWeek) ? null : lastWeek]);
    const colors = `Chart.getChart(document.querySelector('[aria-label="Retention over time"] canvas')).data.datasets[0].pointBackgroundColor`;
    const [faint, grey, blue] = ['rgb(185, 198, 230)', 'rgb(152, 163, 181)', 'rgb(47, 95, 208)'];
    expect(await page.evaluate(colors)).toEqual(
      weeks.map((_, week) => {
        const { n } = shareOf(both.retention.days.slice(4 + 7 * week, 11 + 7 * week));
        return n < 10 ? faint : week < 4 ? grey : blue;
      }),
    );

    // Each day is beside the name of its weekday, and each first of a month below its name.
    const drawnYear = page.getByRole('region', { name: 'Year', exact: true });
    const shown = (selector: string) =>
      drawnYear.locator(selector).evaluateAll((all) =>
        all.map((each) => {
          const { left, top, bottom } = each.getBoundingClientRect();
          return { text: each.textContent ?? '', left, middle: (top + bottom) / 2 };
        }),
      );
    const [dayCells, names] = [await shown('rect[data-index]'), await shown('svg text')];
    expect(dayCells).toHaveLength(365);
    const near = (a = Number.NaN, b = Number.NaN) => Math.abs(a - b) < 5;
    const part = (date: string, options: Intl.DateTimeFormatOptions) =>
      new Date(date).toLocaleDateString('en-GB', { ...options, timeZone: 'UTC' });
    const beside = dayCells.map(({ middle }) => names.find((name) => near(name.middle, middle))?.text);
    expect(beside).toEqual(
      year.activity.days.map(({ date }: { date: string }) =>
        [part(date, { weekday: 'short' })].find((name) => ['Mon', 'Wed', 'Fri'].includes(name)),
      ),
    );
    const firsts = year.activity.days.flatMap(({ date }: { date: string }, index: number) =>
      date.endsWith('-01') ? [{ month: part(date, { month: 'short' }), left: dayCells[index]?.left }] : [],
    );
    expect(firsts.length).toBeGreaterThan(10);
    for (const { month, left } of firsts)
      expect(names.filter((name) => near(name.left, left)).map(({ text }) => text)).toContain(month);

    await page.locator('[aria-label="Retention by interval"] canvas').hover();
    const told = `Chart.getChart(document.querySelector('[aria-label="Retention by interval"] canvas')).tooltip.body?.[0].lines[0]`;
    const middle = bands[2]?.count ?? { reviews: 0, recalled: 0, retention: null };
    const text = `${percent(middle.retention) ?? '–'}${middle.retention === null ? '' : '\u00a0%'}: ${middle.recalled} of ${middle.reviews} review`;
    await expect.poll(() => page.evaluate(told)).toContain(text);
    expect(await page.locator('[data-index="364"] title').textContent()).toContain(`: ${today} review`);

    await page.getByLabel('Window, compared with the one before').selectOption('90 days');
    await page.getByText('Reviews, 90 days').waitFor();
    expect(((await drawn('Forecast')) as unknown[]).length).toBe(90);
    expect(((await drawn('Retention over time')) as unknown[]).length).toBe(25);
    await page.getByLabel('Window, compared with the one before').selectOption('7 days');
    await page.getByText('Reviews, 7 days').waitFor();
    expect(((await drawn('Retention over time')) as unknown[]).length).toBe(14);
    await page.getByText('Share graded 3 or better by day').waitFor();
    await page.getByLabel('Window, compared with the one before').selectOption('90 days');
    await page.getByText('Reviews, 90 days').waitFor();

    await drawnYear.getByRole('button', { name: 'Table' }).click();
    const rows = await drawnYear.locator('tbody tr').allInnerTexts();
    expect(rows.map((row) => row.split('\t'))).toEqual(
      year.activity.days.map(({ date, count }: { date: string; count: number }) => [date, String(count)]),
    );
  });

  test('draws charts in the colours of the screen, which may turn light by itself in the morning', async () => {
    const { page } = await dashboard.openAt(`#/users/${dashboard.seeded.userId}`);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('canvas').last().waitFor();
    const color = `Chart.getChart(document.querySelector('canvas')).data.datasets[0].backgroundColor[0]`;
    await expect.poll(() => page.evaluate(color)).toBe('rgb(131, 169, 255)');
    await page.emulateMedia({ colorScheme: 'light' });
    await expect.poll(() => page.evaluate(color)).toBe('rgb(47, 95, 208)');
  });

  test('prints dark text on light paper, whatever the screen is', async () => {
    const { page } = await dashboard.openAt('#/');
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await page.evaluate('getComputedStyle(document.body).color')).toBe('rgb(27, 34, 48)');
  });

  test('opens a day of the heat map, by pointer or from the table, with its reviews on the learner’s clock', async () => {
    const { userId } = dashboard.seeded;
    const { page, complaints } = await dashboard.openAt(`#/users/${userId}`);
    const year = page.getByRole('region', { name: 'Year', exact: true });
    await year.waitFor();
    const activity = `query ($id: ID) { user(id: $id) { timeZone stats(days: 365) { activity { days { date count } } } } }`;
    const { user } = (await dashboard.gateway.query(activity, { id: userId })).data;
    const days: { date: string; count: number }[] = user.stats.activity.days;
    const index = days.findLastIndex(({ count }) => count > 1 && count <= 50);
    const { date = '', count } = days[index] ?? {};
    const cell = year.locator(`rect[data-index="${index}"]`);
    const opened = page.context().waitForEvent('page');
    await cell.click({ modifiers: ['Control'] });
    const other = await opened;
    await other.getByRole('table', { name: 'Reviews' }).waitFor();
    expect(new URL(other.url()).hash).toBe(`#/users/${userId}/days/${date}`);
    await other.close();
    await cell.click();
    const rows = page.getByRole('table', { name: 'Reviews' }).locator('tbody tr');
    await rows.first().waitFor();
    expect(await page.evaluate('location.hash')).toBe(`#/users/${userId}/days/${date}`);
    expect(await rows.count()).toBe(count);
    const asked = `query ($id: ID, $date: Date) { user(id: $id) { reviews(first: 50, date: $date) {
      nodes { reviewedAt quality material { title } } } } }`;
    const { nodes } = (await dashboard.gateway.query(asked, { id: userId, date })).data.user.reviews;
    const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: user.timeZone });
    const expected = nodes.map(
      ({
        reviewedAt,
        quality,
        material,
      }: {
        reviewedAt: string;
        quality: number;
        material: { title: string };
      }) => [clock.format(new Date(reviewedAt)), material.title, String(quality)],
    );
    const cells = await rows.evaluateAll((all) =>
      all.map((each) => [...each.children].slice(0, 3).map(({ textContent }) => textContent)),
    );
    expect(cells).toEqual(expected);

    await page.getByRole('link', { name: 'Day after' }).click();
    const next = days[index + 1]?.date;
    if (next !== undefined) await expect.poll(() => page.evaluate('location.hash')).toContain(next);
    await page
      .getByRole('link', { name: 'Day before' })
      .and(page.locator(`[href$="${date}"]`))
      .click();
    await rows.first().waitFor();
    await page.goto(`${dashboard.gateway.origin}/dashboard#/users/${userId}`);
    await page.getByRole('button', { name: 'Table: Year' }).click();
    await page.getByRole('link', { name: date }).click();
    await rows.first().waitFor();
    expect(complaints).toEqual([]);
  });

  test('says how many materials there are, and lists them in each order, forward and back', async () => {
    const { userId } = dashboard.seeded;
    const { page, complaints } = await dashboard.openAt(`${path(userId)}/materials`);
    const asked = `query ($id: ID, $order: MaterialOrder, $after: String) { user(id: $id) {
      materialCounts { active due archived leeches }
      materials(first: 25, order: $order, after: $after) { nodes { title ef } pageInfo { endCursor } } } }`;
    const list = async (order: string, after?: string) =>
      (await dashboard.gateway.query(asked, { id: userId, order, after })).data.user;
    const { materialCounts: counts, materials } = await list('EASE');
    await page
      .getByText(
        `${counts.active} active materials, ${counts.due} of them due now, ${counts.leeches} forgotten again and again (leeches); ${counts.archived} archived.`,
      )
      .waitFor();
    const shown = () =>
      page
        .getByRole('table', { name: 'Materials' })
        .locator('tbody th a[href*="/materials/"]')
        .allInnerTexts();
    const titles = ({ nodes }: { nodes: { title: string }[] }) => nodes.map(({ title }) => title);
    await page.getByLabel('Sort').selectOption('Lowest ease');
    await expect.poll(shown).toEqual(titles(materials));
    await page.getByRole('link', { name: 'Next page' }).click();
    await expect.poll(shown).toEqual(titles((await list('EASE', materials.pageInfo.endCursor)).materials));
    await page.reload();
    await page.getByRole('link', { name: 'First page' }).click();
    await expect.poll(shown).toEqual(titles(materials));
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: 'Previous page' }).click();
    await expect.poll(shown).toEqual(titles(materials));
    expect(complaints).toEqual([]);
  });

  test('copies an ID whole, and a table for a spreadsheet, and shows the drawing again', async () => {
    const { page } = await dashboard.openAt(path(dashboard.seeded.userId));
    const { userId } = dashboard.seeded;
    const id = page.getByRole('button', { name: `Copy ID …${userId.slice(-8)}` });
    expect(await id.innerText()).toBe(`…${userId.slice(-8)}`);
    await id.click();
    const copied = () => page.evaluate('navigator.clipboard.readText()');
    await expect.poll(copied).toBe(userId);
    const figure = page.getByRole('region', { name: 'Intervals', exact: true });
    await figure.getByRole('button', { name: 'Table' }).click();
    await figure.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied.').waitFor();
    await expect
      .poll(copied)
      .toMatch(
        /^Interval\tMaterials\nnew\t\d+\n1–6 days\t\d+\n7–20 days\t\d+\n21–89 days\t\d+\n90\+ days\t\d+$/,
      );
    await figure.getByRole('button', { name: 'Table' }).click();
    await figure.locator('canvas').waitFor();
    expect(await figure.getByRole('button', { name: 'Copy' }).isVisible()).toBe(false);
    const hardest = page.getByRole('table', { name: 'Hardest materials' }).getByRole('link').first();
    const title = await hardest.innerText();
    await hardest.click();
    await page.getByRole('heading', { name: title, exact: true }).waitFor();
  });

  test('finds materials by text, state and type; archives, restores and snoozes on the learner’s clock', async () => {
    const { userId } = await dashboard.system.createUser([], 'Asia/Tokyo');
    const id = await createMaterial(userId, { title: 'Kanji', type: 'CARD' });
    await createMaterial(userId, { title: 'Kana' });
    const { page, complaints } = await dashboard.openAt(path(userId, '/materials'));
    const titles = () => page.locator('tbody th').allInnerTexts();
    await expect.poll(titles).toEqual(['Kana', 'Kanji']);
    await page.getByLabel('Title, content or source').fill(' KANJ ');
    await page.keyboard.press('Enter');
    await expect.poll(titles).toEqual(['Kanji']);
    await page.getByLabel('Title, content or source').fill('');
    await page.getByLabel('Type').selectOption('Card');
    await expect.poll(titles).toEqual(['Kanji']);

    await page.getByRole('button', { name: 'Archive Kanji' }).click();
    await page.getByText('No material matches.').waitFor();
    await page.getByLabel('State').selectOption('Archived');
    await page.getByRole('button', { name: 'Restore Kanji' }).click();
    await page.getByText('No material matches.').waitFor();
    expect((await materialOf(userId, id)).archivedAt).toBeNull();
    await page.getByLabel('State').selectOption('Due now');

    await page.getByRole('button', { name: 'Snooze Kanji' }).click();
    await page.getByLabel('Date and time').fill('2099-01-15T09:30');
    await page.getByLabel('Reason').fill('exam first');
    await page.getByRole('dialog').getByRole('button', { name: 'Snooze' }).click();
    await page.getByText('No material matches.').waitFor();
    expect(await materialOf(userId, id)).toMatchObject({
      nextReview: '2099-01-15T00:30:00.000Z',
      snoozes: { nodes: [{ reason: 'exam first' }] },
    });
    // The button that was pressed is gone: the keyboard goes on from the heading, not from the top of the page.
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1');
    await page.getByRole('link', { name: 'Show all active materials' }).click();
    await expect.poll(titles).toEqual(['Kana', 'Kanji']);
    await page.getByLabel('State').selectOption('Not due yet');
    await expect.poll(titles).toEqual(['Kanji']);
    await page.getByLabel('State').selectOption('Active');
    await page.getByRole('button', { name: 'Snooze Kana' }).click();
    await page.getByLabel('Until tomorrow, 09:00').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Snooze' }).click();
    await page.getByText(/Snoozed until .*, 09:00: Kana/).waitFor();
    expect(complaints).toEqual([]);
  });

  test('shows a material’s text as text, and links a source only where it is a page', async () => {
    const { userId } = await dashboard.system.createUser([]);
    const content = '<img src=x onerror="document.title=1">\nsecond line';
    const evil = await createMaterial(userId, {
      title: '<b>bold</b>',
      content,
      sourceUrl: 'javascript:alert(1)',
    });
    const good = await createMaterial(userId, { title: 'Page', sourceUrl: 'https://example.com/a?b=c#d' });
    for (const quality of [4, 5, 1])
      await dashboard.gateway.mutate('submitReview', { userId, materialId: good, quality });
    const { page, complaints } = await dashboard.openAt(path(userId, `/materials/${evil}`));
    await page.getByRole('heading', { name: '<b>bold</b>' }).waitFor();
    expect(await page.locator('.prose').innerText()).toBe(content);
    await page.getByText('Source: javascript:alert(1)').waitFor();
    expect(await page.locator('a[href^="javascript"], main img').count()).toBe(0);
    await page.getByText('This material was never reviewed.').waitFor();
    await page.getByText('This material was never snoozed.').waitFor();

    await page.goto(`${dashboard.gateway.origin}/dashboard${path(userId, `/materials/${good}`)}`);
    const link = page.getByRole('link', { name: 'https://example.com/a?b=c#d' });
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
    await page.getByText('Due in 1 day, ease 2.06').waitFor();
    await page.getByText('3 reviews: the interval').waitFor();
    const history = "Chart.getChart(document.querySelector('[aria-label=History] canvas')).data.datasets[0]";
    expect(await page.evaluate(`${history}.data.map(({ y }) => y)`)).toEqual([1, 6, 1]);
    expect(await page.evaluate(`${history}.pointStyle`)).toEqual(['circle', 'circle', 'triangle']);
    expect(await page.evaluate(`${history}.stepped`)).toBe(true);
    expect(await page.locator('.legend').innerText()).toMatch(/^graded 1, failed\s*graded 4\s*graded 5$/);
    expect(await page.evaluate(`new Set(${history}.pointBackgroundColor).size`)).toBe(3);
    // However narrow it is, each sign is on the line of its words.
    const apart = await page.locator('.legend').evaluate((legend) =>
      [90, 120, 150, 180, 210, 240].filter((width) => {
        legend.style.width = `${width}px`;
        return [...legend.querySelectorAll('.sign')].some((sign) => {
          const words = sign.ownerDocument.createRange();
          words.selectNode(sign.nextSibling ?? sign);
          return words.getBoundingClientRect().top > sign.getBoundingClientRect().bottom;
        });
      }),
    );
    expect(apart).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('spreads what is due over the coming days after a preview, and takes it all back', async () => {
    const { userId, email, ids } = await dashboard.newLearner(['A', 'B', 'C', 'D'], 'Asia/Tokyo');
    const { page, complaints } = await dashboard.openAt(path(userId));
    const dialog = page.getByRole('dialog', { name: `Catch up: ${email}` });
    await page.getByRole('button', { name: 'Catch up …' }).click();
    await dialog
      .getByText('Moved to the coming days: 4 reviews. After spreading, no day has more than 1 review.')
      .waitFor();
    await dialog.getByLabel('Number of days').fill('2');
    await dialog.getByText('After spreading, no day has more than 2 reviews.').waitFor();
    await dialog.getByLabel('Maximum reviews on one day').fill('1');
    await dialog
      .getByText('Moved to the coming days: 2 reviews. Due now, but not moved: 2 reviews. After spreading')
      .waitFor();
    await dialog.getByRole('button', { name: 'Table: Reviews due on each day' }).click();
    expect((await dialog.getByRole('row').allInnerTexts()).map((row) => row.split(/\s+/).slice(-2))).toEqual([
      ['After', 'spreading'],
      ['4', '2'],
      ['0', '1'],
      ['0', '1'],
    ]);
    await dialog.getByLabel('Maximum reviews on one day').fill('');
    await dialog.getByRole('button', { name: 'Spread' }).click();
    await page.getByText('Spread 4 materials over 2 days').waitFor();
    await page.getByRole('button', { name: 'Catch up …' }).waitFor({ state: 'detached' });
    await page.goto(`${dashboard.gateway.origin}/dashboard${path(userId, `/materials/${ids[0]}`)}`);
    await page.getByRole('row', { name: /spread over 2 days – 3 others$/ }).waitFor();
    await page.goto(`${dashboard.gateway.origin}/dashboard${path(userId, '/timeline')}`);
    await page.getByText('Spread 4 due materials over 2 days').waitFor();
    await page.getByRole('button', { name: /^Undo/ }).click();
    await page.getByText('Undone: 4 materials due as before the snooze').waitFor();
    for (const id of ids)
      expect(Date.parse((await materialOf(userId, id)).nextReview)).toBeLessThan(Date.now());
    expect(complaints).toEqual([]);
  });

  test('previews the days that were typed last, though the preview of others comes later', async () => {
    const { userId } = await dashboard.newLearner(['A', 'B', 'C', 'D']);
    const { page } = await dashboard.openAt(path(userId));
    const late = await holdBack(page, 'mutation SpreadBacklog', '"days":7,');
    await page.getByRole('button', { name: 'Catch up …' }).click();
    await late.asked;
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Number of days').fill('2');
    const preview = dialog.getByText('After spreading, no day has more than 2 reviews.');
    await preview.waitFor();
    late.letGo();
    await late.isTaken();
    expect(await preview.isVisible()).toBe(true);
  });

  test('refuses to spread over more than 60 days', async () => {
    const { userId } = await dashboard.newLearner(['Due']);
    const { page } = await dashboard.openAt(path(userId));
    await page.getByRole('button', { name: 'Catch up …' }).click();
    const dialog = page.getByRole('dialog');
    const days = dialog.getByLabel('Number of days');
    await days.fill('61');
    await dialog.getByRole('button', { name: 'Spread' }).click();
    expect(
      await days.evaluate((input) => (input as { validationMessage: string }).validationMessage),
    ).toMatch(/60/);
    expect(
      (await dashboard.gateway.clients.snoozes.listSnoozes({ userId }, { requestId: 'test' })).snoozes,
    ).toEqual([]);
  });

  test('tells in the timeline that a spread of more than 100 materials was undone, without a number that it lacks', async () => {
    const { userId } = await dashboard.system.createUser(['profile:read']);
    await createMaterials(userId, 102);
    const { mutate } = dashboard.gateway;
    const { snooze } = await mutate('spreadBacklog', { userId, days: 1 }, 'snooze { id }');
    await mutate('cancelSnooze', { userId, snoozeId: snooze.id });
    const { page } = await dashboard.openAt(path(userId, '/timeline?kind=OPERATOR'));
    await page.getByText('Cancelled the snooze of T and at least 99 others').waitFor();
  });

  test('gives a key an end and addresses, says on the page and on the home that it ends soon, and revokes it on its own page', async () => {
    const { userId } = await dashboard.system.createUser(['profile:read']);
    const { page } = await dashboard.openAt(path(userId, '/keys'));
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await dialog.getByLabel('Name').fill('batch job');
    const end = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 16);
    await dialog.getByLabel('Ends').fill(end);
    await dialog.getByLabel('Allowed addresses').fill('10.0.0.0/8,  nowhere');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('"nowhere" is none').waitFor();
    await dialog.getByLabel('Allowed addresses').fill('10.0.0.0/8, 2001:db8::1');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByText(/^ends in (2|3) days$/).waitFor();
    await page.getByText('from 10.0.0.0/8, 2001:db8::1/128').waitFor();
    await page.goto(`${dashboard.gateway.origin}/dashboard#/`);
    await page.getByRole('link', { name: /^\d+ keys? about to end$/ }).click();
    await page
      .getByRole('row', { name: /batch job/ })
      .getByRole('link', { name: 'batch job' })
      .click();
    await page.getByRole('button', { name: 'Revoke batch job' }).click();
    await dialog.getByRole('button', { name: 'Revoke permanently' }).click();
    await page.getByText(/^revoked \d/).waitFor();
    expect(await page.getByRole('button', { name: 'Rotate batch job' }).count()).toBe(0);
  });

  test('takes the end of a key on the clock of the learner', async () => {
    const { userId } = await dashboard.system.createUser(['profile:read']);
    await dashboard.gateway.mutate('updateUser', { userId, timeZone: 'Asia/Tokyo' });
    const { page } = await dashboard.openAt(path(userId, '/keys'));
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await dialog.getByLabel('Name').fill('batch job');
    await dialog.getByLabel('Ends').fill('2099-01-01T09:00');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('button', { name: 'Done' }).waitFor();
    const query = 'query ($id: ID) { user(id: $id) { apiKeys { nodes { name expiresAt } } } }';
    const { data } = await dashboard.gateway.query(query, { id: userId });
    expect(data.user.apiKeys.nodes).toContainEqual({
      name: 'batch job',
      expiresAt: '2099-01-01T00:00:00.000Z',
    });
  });

  test('makes a key and shows it once, rotates it for use on REST, and revokes it', async () => {
    const { userId } = await dashboard.system.createUser(['profile:read']);
    const { page } = await dashboard.openAt(path(userId, '/keys'));
    const dialog = page.getByRole('dialog');
    const api = createApi(`${dashboard.system.origins[0]}/v1`);
    const statusOf = async (key: string) => (await api.get('/me', { key })).status;

    await page.getByRole('button', { name: 'Create a key' }).click();
    await dialog.getByLabel('Name').fill('phone app');
    await dialog.getByLabel('materials:write').check();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('button', { name: 'Copy' }).waitFor();
    // Esc does not lose the key.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    // As over plain HTTP.
    await page.evaluate('delete Clipboard.prototype.writeText; document.execCommand = () => false');
    await dialog.getByRole('button', { name: 'Copy' }).click();
    await page.locator('#status').getByText('The browser did not copy it.').waitFor();
    const copyAgain = dialog.getByRole('button', { name: 'Not copied: use the keyboard' });
    await copyAgain.waitFor();
    expect(await page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA');
    await page.evaluate('delete document.execCommand');
    await copyAgain.click();
    await dialog.getByRole('button', { name: 'Copied', exact: true }).waitFor();
    const key = String(await page.evaluate('navigator.clipboard.readText()'));
    expect(key).toMatch(/^rmk_live_\w{49}$/);
    expect(await statusOf(key)).toBe(200);
    await dialog.getByRole('button', { name: 'Done' }).click();

    await page.getByRole('button', { name: 'Rotate phone app' }).click();
    expect(await dialog.locator('label.choice').allInnerTexts()).toEqual([
      'materials:read',
      'materials:write',
      'reviews:read',
      'profile:read',
    ]);
    await dialog.getByLabel('materials:write').uncheck();
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    const rotated = await dialog.getByLabel('Key “phone app”').inputValue();
    await dialog.getByRole('button', { name: 'Done' }).click();
    expect(rotated).not.toBe(key);
    const me = await api.get('/me', { key: rotated });
    expect(me.body).toMatchObject({ id: userId, scopes: ['materials:read', 'reviews:read', 'profile:read'] });
    for (const secret of [key, rotated]) await expect.poll(() => page.content()).not.toContain(secret);

    // The old one is below its replacement.
    await page.getByRole('button', { name: 'Revoke phone app' }).nth(1).click();
    await dialog.getByText('stops working immediately and permanently').waitFor();
    expect(await statusOf(key)).toBe(200);
    await dialog.getByRole('button', { name: 'Revoke permanently' }).click();
    await page.getByText(/^revoked \d/).waitFor();
    await expect.poll(() => statusOf(key)).toBe(401);
    expect(await statusOf(rotated)).toBe(200);
  });

  test('says of a key that is to be rotated until when it works', async () => {
    const { userId, apiKeyId } = await dashboard.system.createUser(['profile:read']);
    const { page } = await dashboard.openAt(path(userId, '/keys'));
    const rotate = page.getByRole('button', { name: 'Rotate' });
    const dialog = page.getByRole('dialog');
    await rotate.click();
    await dialog.getByText('The old key works until you revoke it, so that').waitFor();
    for (const [end, told] of [
      ['2099-01-01', 'The old key works until it ends or you revoke it, so that'],
      ['2020-01-01', 'The old key has expired, and stays so.'],
    ] as const) {
      await sql(`UPDATE accounts.api_keys SET expire_time = '${end}Z' WHERE api_key_id = '${apiKeyId}'`);
      await page.reload();
      await rotate.click();
      await dialog.getByText(told).waitFor();
    }
  });

  test('pages through the keys of a learner who has made many', async () => {
    const { userId } = await dashboard.system.createUser();
    for (let count = 1; count < 27; count += 1) await dashboard.system.createKey(userId, ['profile:read']);
    const { page } = await dashboard.openAt(path(userId, '/keys'));
    await page.getByRole('link', { name: 'Next page' }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(25);
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: 'Previous page' }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(2);
  });

  test('offers a viewer no action', async () => {
    const { userId, ids } = await dashboard.newLearner(['Seen']);
    const { page } = await dashboard.openAt(path(userId, '/materials'), { token: VIEWER });
    await page.getByText('vic, viewer').waitFor();
    const seen = async () => (await page.getByRole('button').allInnerTexts()).toSorted();
    await page.getByRole('link', { name: 'Seen' }).waitFor();
    expect(await seen()).toEqual(['Log out', 'Search', expect.stringMatching(/^…/)]);
    await page.goto(`${dashboard.gateway.origin}/dashboard${path(userId, `/materials/${ids[0]}`)}`);
    await page.getByText('If graded now').waitFor();
    const copyButton = expect.stringMatching(/^…[0-9a-f]{8}$/);
    expect(await seen()).toEqual(['Log out', copyButton, copyButton]);
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByText('valid').waitFor();
    expect(await seen()).toEqual(['Log out', copyButton, copyButton]);
  });

  test('tells the share recalled of a day only where all of its reviews are on the page', async () => {
    const { userId, ids } = await dashboard.newLearner(['Often']);
    const [materialId = ''] = ids;
    const review = async (quality: number) => {
      const made = await dashboard.gateway.clients.reviews.submitReview(
        { userId, materialId, quality },
        call,
      );
      return Number(made.review?.reviewTime?.seconds) * 1000;
    };
    const first = await review(2);
    const { page } = await dashboard.openAt(
      path(userId, `/days/${new Date(first).toISOString().slice(0, 10)}`),
    );
    await page.getByText('1 review, 0\u00a0% recalled').waitFor();
    for (let count = 1; count <= 50; count += 1) await review(5);
    // All on the day of the first, also around midnight.
    await sql(
      `UPDATE scheduling.reviews SET review_time = (SELECT min(review_time) FROM scheduling.reviews WHERE user_id = '${userId}')
       WHERE user_id = '${userId}'`,
    );
    await page.reload();
    const rows = page.getByRole('table', { name: 'Reviews' }).locator('tbody tr');
    await page.getByRole('link', { name: 'Next page' }).waitFor();
    expect([await rows.count(), await page.getByText('recalled').count()]).toEqual([50, 0]);
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: 'Previous page' }).waitFor();
    expect([await rows.count(), await page.getByText('recalled').count()]).toEqual([1, 0]);
    // A single review is seen beside many.
    await sql(
      `UPDATE scheduling.reviews SET review_time = review_time - interval '2 days'
       WHERE review_id = (SELECT min(review_id::text)::uuid FROM scheduling.reviews WHERE user_id = '${userId}')`,
    );
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('51 reviews in the last 365 days').waitFor();
    const shades = page.locator('rect[data-index]:not([fill="var(--heat-0)"])');
    expect(await shades.evaluateAll((all) => all.map((each) => each.getAttribute('fill')))).toEqual([
      'var(--heat-1)',
      'var(--heat-4)',
    ]);
  });

  test('draws the history of a material on the learner’s clock and the year in rows of weekdays, whatever the browser’s clock is', async () => {
    const { userId, ids } = await dashboard.newLearner(['Far away'], 'Pacific/Kiritimati');
    const graded = { userId, materialId: ids[0], quality: 4 };
    const { review } = await dashboard.gateway.mutate('submitReview', graded, 'review { reviewedAt }');
    const { page } = await dashboard.openAt(path(userId, `/materials/${ids[0]}`), {
      own: { timezoneId: 'Pacific/Pago_Pago' },
    });
    const axis = "Chart.getChart(document.querySelector('[aria-label=History] canvas')).scales.x";
    await page.getByText('1 review: the interval').waitFor();
    const last = Date.parse(review.reviewedAt) + 43_200_000;
    const format = {
      day: 'numeric',
      month: 'short',
      year: '2-digit',
      timeZone: 'Pacific/Kiritimati',
    } as const;
    expect(await page.evaluate(`${axis}.ticks.at(-1).label`)).toBe(
      new Intl.DateTimeFormat('en-GB', format).format(last),
    );
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('1 review in the last 365 days').waitFor();
    const cells = page.locator('rect[data-index]');
    const rows = await cells.evaluateAll((all) =>
      all.map((each) => `${each.textContent?.slice(0, 3)} ${each.getAttribute('y')}`),
    );
    expect([...new Set(rows)].toSorted()).toEqual([
      'Fri 74',
      'Mon 18',
      'Sat 88',
      'Sun 102',
      'Thu 60',
      'Tue 32',
      'Wed 46',
    ]);
  });

  test('names a month whole also where it begins in the last week of the year', async () => {
    const { userId, ids } = await dashboard.newLearner(['In September']);
    const [materialId = ''] = ids;
    await dashboard.gateway.clients.reviews.submitReview({ userId, materialId, quality: 4 }, call);
    const { page } = await dashboard.openAt('#/users');
    const today = Date.UTC(2026, 8, 1);
    await page.route('**/graphql', async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      const days: { date: string }[] = json.data?.user?.year?.activity.days ?? [];
      for (const [index, day] of days.entries())
        day.date = new Date(today - (364 - index) * 86_400_000).toISOString().slice(0, 10);
      await route.fulfill({ response, json });
    });
    await page.evaluate(`location.hash = '#/users/${userId}'`);
    const month = page
      .getByRole('img', { name: 'Reviews per day' })
      .locator('text', { hasText: 'Sept' })
      .last();
    const place = await month.evaluate((text) => {
      const { x, width } = text.getBBox();
      const all = text.ownerSVGElement?.viewBox.baseVal.width ?? 0;
      return { isInLastWeek: x > all - 40, isWhole: x + width <= all };
    });
    expect(place).toEqual({ isInLastWeek: true, isWhole: true });
  });

  test('shows the figures of who has archived materials alone', async () => {
    const { userId, ids } = await dashboard.newLearner(['Put away']);
    const [materialId = ''] = ids;
    await dashboard.gateway.clients.reviews.submitReview({ userId, materialId, quality: 4 }, call);
    await sql(`UPDATE scheduling.reviews SET review_time = '2020-01-01Z' WHERE user_id = '${userId}'`);
    await dashboard.gateway.clients.materials.archiveMaterial({ userId, materialId }, call);
    const { page } = await dashboard.openAt(path(userId));
    await page.getByText('There are no active materials.').first().waitFor();
    await page.getByText('No active material was reviewed, so there is nothing to remember.').waitFor();
    await page.getByText('No active material was reviewed three times in the window.').waitFor();
  });

  test('draws a review after which an imported material was due within the day', async () => {
    const { page, line } = await reviewedTwice('after_interval_days = 0');
    expect(await page.evaluate(`${line}.getDatasetMeta(0).data.map(({ skip }) => skip)`)).toEqual([
      false,
      false,
    ]);
  });

  test('draws reviews in the order of their times, also where an import has added a later one', async () => {
    const { page, line } = await reviewedTwice("review_time = review_time + interval '1 hour'");
    expect(await page.evaluate(`${line}.data.datasets[0].data.map(({ y }) => y)`)).toEqual([6, 1]);
  });

  /** The page of a material that was graded 3 and then 4, its first review changed in SQL; and its history, as an expression of the page. */
  async function reviewedTwice(change: string) {
    const { userId, ids } = await dashboard.newLearner(['Learnt elsewhere']);
    const [materialId = ''] = ids;
    for (const quality of [3, 4])
      await dashboard.gateway.clients.reviews.submitReview({ userId, materialId, quality }, call);
    await sql(`UPDATE scheduling.reviews SET ${change} WHERE material_id = '${materialId}' AND quality = 3`);
    const { page } = await dashboard.openAt(path(userId, `/materials/${materialId}`));
    await page.getByText('2 reviews: the interval').waitFor();
    return { page, line: "Chart.getChart(document.querySelector('[aria-label=History] canvas'))" };
  }

  test('goes to the login when the token has expired, and back to the same place', async () => {
    const { userId } = await dashboard.newLearner(['Kept in sight']);
    const { page } = await dashboard.openAt(path(userId, '/materials'));
    const archive = page.getByRole('button', { name: 'Archive Kept in sight' });
    await archive.waitFor();
    await page.evaluate(EXPIRE);
    await archive.click();
    await page.getByText('The login is no longer valid').waitFor();
    await logIn(page, OPERATOR);
    await page.getByRole('link', { name: 'Kept in sight' }).waitFor();
    await page.getByLabel('Title, content or source').fill('sight');
    await page.evaluate(EXPIRE);
    await page.keyboard.press('Enter');
    await page.getByText('The login is no longer valid').waitFor();
    expect(await page.evaluate('location.hash')).toBe(`#/users/${userId}/materials?q=sight&state=active`);
    await logIn(page, OPERATOR);
    await page.getByRole('link', { name: 'Kept in sight' }).waitFor();
    expect(await page.getByLabel('Title, content or source').inputValue()).toBe('sight');
  });

  test('brings a dialog back with its input when the same person logs in again, and to nobody else', async () => {
    const { userId, ids } = await dashboard.newLearner(['Put off']);
    const { page, complaints } = await dashboard.openAt(path(userId, '/materials'));
    const dialog = page.getByRole('dialog');
    const reason = dialog.getByLabel('Reason (optional)');
    const snooze = dialog.getByRole('button', { name: 'Snooze' });
    const fillInAndExpire = async (text: string) => {
      await page.getByRole('button', { name: 'Snooze Put off' }).click();
      await reason.fill(text);
      await page.evaluate(EXPIRE);
      await snooze.click();
      await page.getByText('The login is no longer valid').waitFor();
      expect(await dialog.count()).toBe(0);
    };
    await fillInAndExpire('holiday');
    await logIn(page, OPERATOR);
    await dialog.getByText('The login expired before this was done. Try again.').waitFor();
    expect(await reason.inputValue()).toBe('holiday');
    await snooze.click();
    await page.getByText(/^Snoozed until .*: Put off$/).waitFor();
    await dialog.waitFor({ state: 'detached' });
    expect((await materialOf(userId, ids[0])).snoozes.nodes).toEqual([{ reason: 'holiday' }]);
    await fillInAndExpire('private');
    await logIn(page, VIEWER);
    await page.getByText('vic, viewer').waitFor();
    await page.getByRole('link', { name: 'Put off' }).waitFor();
    expect(await dialog.count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('does not bring back a dialog that had saved its input when the login expired', async () => {
    const { userId, ids } = await dashboard.newLearner(['Put off']);
    const { page } = await dashboard.openAt(path(userId, '/materials'));
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Snooze Put off' }).click();
    await dialog.getByLabel('Reason (optional)').fill('holiday');
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('mutation Snooze')
        ? route.continue()
        : route.fulfill({ status: 401, json: {} }),
    );
    await dialog.getByRole('button', { name: 'Snooze' }).click();
    await page.getByText('The login is no longer valid').waitFor();
    await page.unroute('**/graphql');
    await logIn(page, OPERATOR);
    await page.getByRole('link', { name: 'Put off' }).waitFor();
    expect(await dialog.count()).toBe(0);
    expect((await materialOf(userId, ids[0])).snoozes.nodes).toEqual([{ reason: 'holiday' }]);
  });

  test('shows the preview of a dialog that was opened once the login had expired, after the next login', async () => {
    const { userId } = await dashboard.newLearner(['Due']);
    const { page } = await dashboard.openAt(path(userId));
    const catchUp = page.getByRole('button', { name: 'Catch up …' });
    await catchUp.waitFor();
    await page.evaluate(EXPIRE);
    await catchUp.click();
    await page.getByText('The login is no longer valid').waitFor();
    await logIn(page, OPERATOR);
    await page.getByRole('dialog').getByText('Moved to the coming days: 1 review. After spreading').waitFor();
  });

  test('says what to do when a call fails, when there is nothing, and when a link leads nowhere', async () => {
    const { userId } = await dashboard.system.createUser();
    const { page } = await dashboard.openAt(path(userId, '/materials'));
    await page.getByText('This learner has no active materials.').waitFor();
    await page.route('**/graphql', (route) => route.abort());
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('Check that it is running and that you are online, then try again.').waitFor();
    await page.unroute('**/graphql');
    const proxied = { status: 502, body: '<h1>Bad gateway</h1>' };
    await page.route('**/graphql', (route) => route.fulfill(proxied), { times: 1 });
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('The gateway answered HTTP 502.').waitFor();
    // A service that is away for a moment, and an answer that is slow to come.
    const away = { errors: [{ message: 'Away.', extensions: { code: 'UNAVAILABLE' } }] };
    await page.route('**/graphql', (route) => route.fulfill({ json: away }), { times: 1 });
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('This learner has no material yet.').waitFor();
    await page.goto(`${dashboard.gateway.origin}/dashboard#/users/01900000-0000-7000-8000-000000000000`);
    await page.getByText('This learner does not exist.').waitFor();
    await page.goto(
      `${dashboard.gateway.origin}/dashboard${path(userId, '/materials/01900000-0000-7000-8000-000000000000')}`,
    );
    await page.getByText('This material does not exist.').waitFor();
    for (const path of ['nowhere', 'constructor', '__proto__']) {
      await page.goto(`${dashboard.gateway.origin}/dashboard#/users`);
      await page.getByText('All, newest first').waitFor();
      await page.goto(`${dashboard.gateway.origin}/dashboard#/${path}`);
      await page.getByText('This page does not exist.').waitFor();
    }
    for (const date of ['2026-13-45', 'yesterday']) {
      await page.goto(`${dashboard.gateway.origin}/dashboard#/users`);
      await page.getByText('All, newest first').waitFor();
      await page.goto(`${dashboard.gateway.origin}/dashboard${path(userId, `/days/${date}`)}`);
      await page.getByText('This day does not exist.').waitFor();
    }
    const held = await holdBack(page);
    await page.goto(`${dashboard.gateway.origin}/dashboard${path(userId, '/keys')}`);
    await page.getByRole('status', { name: 'Loading' }).waitFor();
    held.letGo();
    await page.getByRole('heading', { name: '@example.com' }).waitFor();
    expect(await page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
  });

  test('takes the clock of a time zone as it is, also where it is set forward or back, and UTC for an unknown zone', async () => {
    const { page } = await dashboard.open();
    await page.goto(`${dashboard.gateway.origin}/dashboard`);
    const instants = await page.evaluate(`import(document.querySelector('link[href$="format.js"]').href).then(
      ({ instantOf }) => [
        ['2026-07-01T09:00', 'America/New_York'], ['2026-10-25T09:00', 'Europe/Berlin'], ['2026-10-24T09:00', 'Europe/Berlin'],
        ['2026-03-29T03:00', 'Europe/Berlin'], ['2026-06-01T00:15', 'Asia/Kolkata'], ['2026-06-01T00:15', 'Mars/Olympus'],
        ['2027-03-28T01:30', 'Europe/Berlin'], ['2027-03-28T02:30', 'Europe/Berlin'], ['2027-03-28T03:30', 'Europe/Berlin'],
        ['2027-10-31T02:30', 'Europe/Berlin'], ['2027-11-07T01:30', 'America/Los_Angeles'], ['2027-11-07T02:30', 'America/Los_Angeles'],
      ].map(([local, zone]) => instantOf(local, zone).toISOString()))`);
    expect(instants).toEqual([
      '2026-07-01T13:00:00.000Z',
      '2026-10-25T08:00:00.000Z',
      '2026-10-24T07:00:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-05-31T18:45:00.000Z',
      '2026-06-01T00:15:00.000Z',
      '2027-03-28T00:30:00.000Z',
      // In the hour that is skipped, and in those that are repeated.
      '2027-03-28T01:30:00.000Z',
      '2027-03-28T01:30:00.000Z',
      '2027-10-31T00:30:00.000Z',
      '2027-11-07T08:30:00.000Z',
      '2027-11-07T10:30:00.000Z',
    ]);
  });

  let dashboard: SharedDashboard;

  function takeServices({ dashboard: shared }: Given<'dashboard'>): void {
    dashboard = shared;
  }

  const call = { requestId: 'test' };
  const path = (userId: string, rest = '') => `#/users/${userId}${rest}`;
  const createMaterial = async (userId: string, material: object) => {
    const made = await dashboard.gateway.mutate('createMaterial', { userId, ...material }, 'material { id }');
    return made.material.id as string;
  };
  const sql = (text: string) => query(dashboard.system.databaseUrl, text);
  const createMaterials = (userId: string, count: number) =>
    sql(
      `SELECT scheduling.insert_material('${userId}', gen_random_uuid(), 'T', NULL, NULL, 'simple', 250, 0, 0, now(), now())
       FROM generate_series(1, ${count})`,
    );
  const materialOf = async (userId: string, id?: string) => {
    const query =
      'query ($userId: ID!, $id: ID!) { material(userId: $userId, id: $id) { nextReview archivedAt snoozes { nodes { reason } } } }';
    return (await dashboard.gateway.query(query, { userId, id })).data.material;
  };
});

const FIGURES = `query ($id: ID) { user(id: $id) {
  window: stats(days: 30) { forecast { overdue dueNow days { count } } retention { total { reviews retention }
    bands { band count { reviews recalled retention } } days { count { reviews recalled } } }
    distributions { easeFactors { count } intervals { count } } }
  both: stats(days: 60) { retention { total { reviews } bands { band count { reviews recalled } }
    days { count { reviews recalled } } } }
  year: stats(days: 365) { activity { days { date count } currentStreakDays longestStreakDays } } } }`;
