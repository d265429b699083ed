// Questions of support staff, answered in the dashboard after npm run seed, each with three clicks at most.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';
import { save } from '../support/dashboard.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startRemindersBeside } from '../support/reminders-beside.ts';

describe.runIf(hasBrowser('questions of support staff'))('support staff', () => {
  test.beforeAll(startAll);
  afterAll(stopAll);
  test.beforeEach(prepareEach);
  afterEach(cleanUp);

  test('sees whether a learner is on track', async () => {
    await open(email, new RegExp(email));
    const { stats } = await read('stats { forecast { dueNow overdue } }');
    await tile('Overdue').waitFor();
    expect(await tile('Overdue').innerText()).toBe(`${stats.forecast.overdue}`);
    expect(await tile('Retention, all').innerText()).toMatch(/^\d+\s%$/);
  });

  test('sees why no mail came on Tuesday', async () => {
    await open(email, 'Reminders');
    const tuesday = page.getByRole('table', { name: 'Latest deliveries' }).getByRole('row', { name: /^Tue/ });
    expect(await tuesday.first().innerText()).toContain(
      'The mail server could not be reached (ECONNREFUSED).',
    );
  });

  test('sees which key a 401 was for, by the ID of the request', async () => {
    const made = await gateway.clients.apiKeys.createApiKey({ userId, name: 'old watch' }, CALL);
    await gateway.clients.apiKeys.revokeApiKey({ apiKeyId: made.apiKey?.apiKeyId ?? '' }, CALL);
    const refused = await fetch(`${dashboard.system.origins[0]}/v1/me`, {
      headers: { authorization: `Bearer ${made.key}` },
    });
    expect(refused.status).toBe(401);
    const requestId = refused.headers.get('x-request-id') ?? '';
    // The facade reports refused requests every 10 seconds.
    const found = async () =>
      (await gateway.query(`{ search(text: "${requestId}") { refused { status } } }`)).data.search;
    await expect.poll(found).toEqual([{ refused: { status: 401 } }]);
    await open(requestId, /GET \/v1\/me with revoked key “old watch” refused .*: 401$/);
    await page.getByRole('table', { name: 'Latest refused requests' }).getByText('GET /v1/me').waitFor();
  });

  test('sees who snoozed a material, and undoes it', async () => {
    await open(email, 'Timeline');
    const snooze = page.getByRole('row', { name: /Snoozed .* until/ }).first();
    expect(await snooze.innerText()).toContain('olga');
    await snooze.getByRole('button', { name: /^Undo the snooze of / }).click();
    await page.getByText('Undone: 1 material due as before the snooze').waitFor();
  });

  test('sees how many materials are overdue in all, and who stopped', async () => {
    await page.evaluate("location.hash = '#/'");
    await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
    const { overview } = (await gateway.query('{ overview { overdue } }')).data;
    expect(overview.overdue).toBeGreaterThan(0);
    expect(await tile('Overdue').innerText()).toBe(overview.overdue.toLocaleString('en'));
    expect(await page.evaluate('clicks')).toBe(0);
    await page.getByRole('link', { name: /learners? who went quiet/ }).click();
    const { learners } = (
      await gateway.query('{ learners(filter: WENT_QUIET) { nodes { user { email } } } }')
    ).data;
    const emails = learners.nodes.map(({ user }: { user: { email: string } }) => user.email);
    expect(emails.length).toBeGreaterThan(0);
    const shown = () => page.getByRole('table', { name: 'Learners' }).locator('tbody th a').allInnerTexts();
    await expect.poll(shown).toEqual(emails);
  });

  test('sees when a learner was last active', async () => {
    const { learners } = (
      await gateway.query('{ learners(filter: WENT_QUIET, first: 1) { nodes { userId user { email } } } }')
    ).data;
    const [quiet] = learners.nodes;
    const query = 'query ($id: ID) { user(id: $id) { reviews(first: 1) { nodes { reviewedAt } } timeZone } }';
    const { reviews, timeZone } = (await gateway.query(query, { id: quiet.userId })).data.user;
    const last = new Date(reviews.nodes[0].reviewedAt);
    await open(quiet.user.email, new RegExp(quiet.user.email));
    const day = last.toLocaleDateString('en-GB', {
      timeZone,
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      year: 'numeric',
    });
    await page.getByText(`last on ${day}`).waitFor();
  });

  test('rotates a key', async () => {
    await open(email, 'Keys');
    await press(/^Rotate /);
    await answer('Rotate');
    expect(await page.getByLabel('Key “').inputValue()).toMatch(/^rmk_live_[0-9A-Za-z]{49}$/);
    expect(await page.evaluate('clicks')).toBe(3);
  });

  test('exports a learner', async () => {
    await open(email, 'Profile');
    expect((await save(page, 'Export')).name).toBe(`${email}.json`);
  });

  test('changes the time zone', async () => {
    await open(email, 'Profile');
    const zone = page.getByLabel('Time zone');
    await zone.click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('Asia/Tokyo');
    await press('Save');
    await page.getByText('times in Asia/Tokyo').waitFor();
    expect(await read('timeZone')).toEqual({ timeZone: 'Asia/Tokyo' });
  });

  test('deletes a learner', async () => {
    const other = email.replace('learner1', 'learner2');
    await open(other, 'Profile');
    await press('Delete …');
    await page.keyboard.type(other);
    await answer('Delete for good');
    await page.getByText(`Deleted ${other}: `).waitFor();
    const { data } = await gateway.query('query ($email: String) { user(email: $email) { id } }', {
      email: other,
    });
    expect(data.user).toBeNull();
  });

  let reminders: Awaited<ReturnType<typeof startRemindersBeside>>;
  let dashboard: Given<'dashboard'>['dashboard'];
  let gateway: TestGateway;
  let page: Page;
  let complaints: string[];
  let email: string;
  let userId: string;

  async function startAll({ dashboard: shared }: Given<'dashboard'>): Promise<void> {
    dashboard = shared;
    reminders = await startRemindersBeside(dashboard.system);
    gateway = await startTestGateway({ ...dashboard.system, remindersTarget: reminders.target });
    ({ email, userId } = dashboard.seeded);
  }

  async function stopAll(): Promise<void> {
    await gateway.stop();
    await reminders.stop();
  }

  async function prepareEach(): Promise<void> {
    ({ page, complaints } = await dashboard.openAt('#/users', { origin: gateway.origin }));
    await page.getByRole('heading', { name: 'All learners' }).waitFor();
    await page.evaluate(COUNT_CLICKS);
  }

  async function cleanUp(): Promise<void> {
    expect(await page.evaluate('clicks')).toBeLessThanOrEqual(3);
    expect(complaints).toEqual([]);
  }

  /** Searches without a click, and then opens one of the pages found. */
  const open = async (text: string, link: string | RegExp) => {
    await page.keyboard.press('/');
    await page.keyboard.type(text);
    await page.getByRole('search').getByRole('link', { name: link }).click();
  };
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click();
  const answer = (name: string) =>
    page.getByRole('dialog').getByRole('button', { name, exact: true }).click();
  const tile = (name: string) =>
    page.locator('.tile').filter({ hasText: name }).locator('.figure-value').first();
  const read = async (selection: string) =>
    (await gateway.query(`{ user(id: "${userId}") { ${selection} } }`)).data.user;
});

const CALL = { requestId: 'test' };
/** Presses of the mouse and of Enter. */
const COUNT_CLICKS = `clicks = 0;
  addEventListener('pointerdown', () => { clicks += 1 }, true);
  addEventListener('keydown', ({ key }) => { if (key === 'Enter') clicks += 1 }, true);`;
