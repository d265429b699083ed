// A learner's profile in Chromium: added, changed, exported, deleted; what a viewer may, and what is refused.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasBrowser } from '../support/browser.ts';
import { save, startEmptyDashboard, type TestDashboard } from '../support/dashboard.ts';
import { ask as query } from '../support/database.ts';
import { OPERATOR, VIEWER } from '../support/gateway.ts';

describe.runIf(hasBrowser('profiles'))('the profile of a learner', () => {
  beforeAll(startAll);
  afterAll(() => dashboard.stop());

  test('is changed in the page, and only what is new is sent', async () => {
    const { userId, email } = await learner();
    const page = await openProfile(userId);
    await page.getByLabel('First name').fill('Grace');
    await page.getByLabel('Plan').selectOption('premium');
    await page.getByLabel('Time zone').fill('Asia/Tokyo');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await told(page, 'Saved.');
    await page.getByText('Grace · premium plan · times in Asia/Tokyo').waitFor();
    const changed = { firstName: 'Grace', lastName: null, plan: 'PREMIUM', timeZone: 'Asia/Tokyo' };
    expect(await accountOf(userId)).toEqual({ email, ...changed });
    await page.getByLabel('First name').fill('');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.locator('h1 + p', { hasText: /^premium plan/ }).waitFor();
    expect(await accountOf(userId)).toEqual({ email, ...changed, firstName: null });
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.getByText('Changed the learner’s account: first name, plan, time zone').waitFor();
    await page.getByRole('link', { name: 'Profile' }).click();
    const before = dashboard.gateway.audited.length;
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await told(page, 'Nothing has changed.');
    expect(dashboard.gateway.audited).toHaveLength(before);
  });

  test.each([
    ['Time zone', 'Mars/Olympus', /^Time zone must be an IANA time zone/],
    ['E-mail address', 'taken', /taken|in use|already/i],
  ])('says beside the form that a %s is refused, and keeps what was typed', async (label, value, said) => {
    const { userId, email } = await learner();
    const typed = value === 'taken' ? (await learner()).email : value;
    const page = await openProfile(userId);
    await page.getByLabel(label).fill(typed);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('form', { name: 'Profile' }).getByText(said).first().waitFor();
    await expect.poll(() => page.getByRole('alert').innerText()).toMatch(said);
    expect(await page.getByLabel(label).inputValue()).toBe(typed);
    expect(await accountOf(userId)).toMatchObject({ email, timeZone: 'UTC' });
  });

  test('keeps what is typed and chosen while something else of it is changed', async () => {
    const { userId, email } = await learner();
    const page = await openProfile(userId);
    await page.getByLabel('Last name').fill('Hopper');
    await page.getByLabel('Plan').selectOption('premium');
    await page.getByLabel('Time zone').fill('Asia/Tokyo');
    await page.getByRole('region', { name: 'Leeches' }).getByRole('button', { name: 'Change …' }).click();
    await page.getByLabel('Times forgotten').fill('3');
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await page.getByText('A material that was forgotten 3 times is marked as a leech.').waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Hopper · premium plan · times in Asia/Tokyo').waitFor();
    const changed = { firstName: null, lastName: 'Hopper', plan: 'PREMIUM', timeZone: 'Asia/Tokyo' };
    expect(await accountOf(userId)).toEqual({ email, ...changed });
    await page.getByLabel('Last name').fill(' Hopper ');
    await page.getByLabel('First name').fill(' Grace ');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Grace Hopper · ').waitFor();
    expect(await page.getByLabel('First name').inputValue()).toBe('Grace');
  });

  test('says how materials come back, and is switched to FSRS and back in words', async () => {
    const { userId, email } = await learner();
    const page = await openProfile(userId);
    const schedule = page.getByRole('region', { name: 'Review schedule' });
    await schedule.getByText('SM-2', { exact: true }).waitFor();
    const change = async (method: string, rows: string[][], target?: string) => {
      await schedule.getByRole('button', { name: 'Change …' }).press('Enter');
      const dialog = page.getByRole('dialog', { name: `Review schedule of ${email}` });
      await dialog.getByLabel('Method').selectOption(method);
      if (target) await dialog.getByLabel('Target recall').fill(target);
      else await dialog.getByLabel('Target recall').waitFor({ state: 'hidden' });
      await dialog.getByText(EFFECT).waitFor();
      const shown = await dialog.getByRole('row').allInnerTexts();
      expect(shown.map((row) => row.replaceAll('\u00a0', ' ').split('\t'))).toMatchObject([
        ['Schedule', 'Now', 'After the change'],
        ...rows,
        [expect.stringMatching(/^Reviews a day/), expect.stringMatching(A_DAY), expect.stringMatching(A_DAY)],
        [
          expect.stringMatching(/^Remembered when reviewed/),
          expect.stringMatching(/ %$/),
          expect.stringMatching(/ %$/),
        ],
      ]);
      await dialog.getByRole('button', { name: 'Change the schedule' }).click();
      // It is told before the page is shown anew, and until then the dialog keeps the keyboard.
      await dialog.waitFor({ state: 'detached' });
    };
    const unchanged = [
      ['Method', 'SM-2', 'SM-2'],
      ['Target recall', NO_TARGET, NO_TARGET],
    ];
    await change('SM2', unchanged);
    await told(page, 'Nothing has changed.');
    const toFsrs = [
      ['Method', 'SM-2', 'FSRS'],
      ['Target recall', NO_TARGET, '85 %'],
    ];
    await change('FSRS', toFsrs, '85');
    await told(page, 'Changed. Each material follows FSRS from its next review on.');
    await schedule.getByText('Target recall: 85 %. Days are counted in UTC.').waitFor();
    const back = [
      ['Method', 'FSRS', 'SM-2'],
      ['Target recall', '85 %', NO_TARGET],
    ];
    await change('SM2', back);
    await schedule.getByText('SM-2', { exact: true }).waitFor();
    const query =
      'query ($id: ID!) { user(id: $id) { settings { scheduler desiredRetention timeZone version } } }';
    const { settings } = (await ask(query, { id: userId })).user;
    expect(settings).toEqual({ scheduler: 'SM2', desiredRetention: 0.85, timeZone: 'UTC', version: 2 });
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.getByText('Changed how the learner’s reviews are scheduled').first().waitFor();
    const timeline =
      'query ($id: ID!) { user(id: $id) { timeline(kinds: [OPERATOR]) { nodes { fields } } } }';
    const { nodes } = (await ask(timeline, { id: userId })).user.timeline;
    expect(nodes.slice(0, 2)).toEqual([
      { fields: ['scheduler'] },
      { fields: ['scheduler', 'desiredRetention'] },
    ]);
  });

  test('is switched to parameters trained on the learner, and then spreads what is due', async () => {
    const { userId } = await learner();
    await query(
      dashboard.system.databaseUrl,
      `INSERT INTO scheduling.learner_predictions
       VALUES ('${userId}', 800, now(), 100, NULL, array_fill(0.5::float8, ARRAY[21]), '2026-05-03T10:00:00Z', 400)`,
    );
    const page = await openProfile(userId);
    const schedule = page.getByRole('region', { name: 'Review schedule' });
    await schedule.getByRole('button', { name: 'Change …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Review schedule' });
    expect(await dialog.getByLabel('FSRS parameters').isVisible()).toBe(false);
    await dialog.getByLabel('Method').selectOption('FSRS');
    await dialog.getByText('used this learner’s reviews up to Sun, 3 May 2026').waitFor();
    await dialog.getByLabel('FSRS parameters').selectOption('Trained on this learner');
    await dialog.getByLabel('Then open “Catch up”').check();
    await dialog.getByRole('button', { name: 'Change the schedule' }).click();
    await told(page, 'Changed. Each material follows FSRS from its next review on.');
    const spread = page.getByRole('dialog', { name: 'Catch up' });
    await spread.getByRole('button', { name: 'Spread' }).click();
    await told(page, /^Spread 1 material over/);
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await page.getByText('FSRS uses parameters trained on this learner’s reviews.').waitFor();
    const text = 'query ($id: ID!) { user(id: $id) { settings { parameters version trainedAt } } }';
    expect((await ask(text, { id: userId })).user.settings).toEqual({
      parameters: 'TRAINED',
      version: 1,
      trainedAt: '2026-05-03T10:00:00.000Z',
    });
  });

  test('is exported as a file with everything, which the audit and the timeline tell', async () => {
    const { userId, materialId, email } = await learner();
    const page = await openProfile(userId);
    const { name, text } = await save(page, 'Export');
    expect(name).toBe(`${email}.json`);
    const held = JSON.parse(text);
    expect(held.user).toMatchObject({ userId, email });
    expect(held.materials).toMatchObject([{ materialId, title: 'Ohm’s law' }]);
    const last = dashboard.gateway.audited.at(-1);
    expect(last).toMatchObject({
      action: 'exportUser',
      outcome: 'ok',
      caller: 'gateway/olga',
      targets: { userId },
    });
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.getByText('Exported everything that is stored about the learner').waitFor();
  });

  test.each([
    ['JSONL', 'jsonl', /^\{"kind":"collection".*"title":"Ohm’s law"/s],
    ['CSV', 'csv', /^\ufeffid,title,.*Ohm’s law/s],
  ])('is saved as %s, the materials alone', async (label, ending, materials) => {
    const { userId, email } = await learner();
    const page = await openProfile(userId);
    const { name, text } = await save(page, `Materials as ${label}`);
    expect(name).toBe(`${email}.${ending}`);
    expect(text).toMatch(materials);
    expect(dashboard.gateway.audited.at(-1)).toMatchObject({
      action: 'exportMaterials',
      targets: { userId },
    });
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.getByText('Exported the learner’s materials').waitFor();
  });

  test('is deleted once the address is typed, and nothing is for another address', async () => {
    const { userId, email } = await learner();
    const page = await openProfile(userId);
    await page.getByRole('button', { name: 'Delete …' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Delete the learner' });
    await dialog.getByLabel('Type the e-mail address').fill('someone@example.com');
    await dialog.getByRole('button', { name: 'Delete for good' }).click();
    await dialog.getByText('That is another address. Nothing was deleted.').waitFor();
    expect(await accountOf(userId)).not.toBeNull();
    await dialog.getByLabel('Type the e-mail address').fill(email.toUpperCase());
    await dialog.getByRole('button', { name: 'Delete for good' }).click();
    await told(page, `Deleted ${email}: 1 key, 1 material, 0 reviews.`);
    await page.getByRole('heading', { name: 'All learners' }).waitFor();
    expect(await accountOf(userId)).toBeNull();
  });

  test('what a dialog has done is told also once it is closed, when a screen reader hears it', async () => {
    const { userId, email } = await learner();
    const page = await openProfile(userId);
    await page.evaluate(`
      globalThis.heard = [];
      new MutationObserver(([{ target }]) => {
        if (document.querySelector('dialog[open]') === null) heard.push(target.textContent);
      }).observe(document.getElementById('status'), { childList: true });`);
    const heard = () => page.evaluate('heard');
    await page.locator('#change-leeches').click();
    await page.getByLabel('Times forgotten').fill('3');
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    const changed = 'Changed. A material is a leech once it was forgotten 3 times.';
    await expect.poll(heard).toEqual([changed]);
    await page.getByRole('button', { name: 'Delete …' }).click();
    await page.getByLabel('Type the e-mail address').fill(email);
    await page.getByRole('button', { name: 'Delete for good' }).click();
    await expect.poll(heard).toEqual([changed, `Deleted ${email}: 1 key, 1 material, 0 reviews.`]);
  });

  test('is made in the page, which then shows the new learner', async () => {
    const { page } = await dashboard.openAt('#/users');
    await page.getByRole('button', { name: 'Add a learner' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Add a learner' });
    await dialog.getByLabel('E-mail address').fill('ada@example.com');
    await dialog.getByLabel('First name').fill('Ada');
    await dialog.getByLabel('Time zone').fill('Europe/London');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('heading', { name: 'ada@example.com' }).waitFor();
    const userId = new URL(page.url()).hash.split('/')[2] ?? '';
    expect(await accountOf(userId)).toEqual({
      email: 'ada@example.com',
      firstName: 'Ada',
      lastName: null,
      plan: 'FREE',
      timeZone: 'Europe/London',
    });
  });

  test('is read only for a viewer, and neither exported nor told apart from nobody without the role', async () => {
    const { userId, email } = await learner();
    const page = await openProfile(userId, { token: VIEWER });
    await page.locator('dd', { hasText: email }).waitFor();
    expect(await page.locator('main').getByRole('button').allInnerTexts()).toEqual([`…${userId.slice(-8)}`]);
    await page.close();
    const get = async (id: string, token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${dashboard.gateway.origin}/exports/users/${id}`, { headers });
      const { errors } = (await response.json()) as { errors: { extensions: { code: string } }[] };
      return [response.status, errors[0]?.extensions.code];
    };
    expect(await get(userId, VIEWER)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(await get(userId, 'x'.repeat(32))).toEqual([401, 'UNAUTHORIZED']);
    expect(await get('01900000-0000-7000-8000-000000000000', OPERATOR)).toEqual([404, 'NOT_FOUND']);
    expect(await get('nobody', OPERATOR)).toEqual([404, 'NOT_FOUND']);
    const outcomes = dashboard.gateway.audited.slice(-3).map(({ action, outcome }) => `${action} ${outcome}`);
    expect(outcomes).toEqual([
      'exportUser INSUFFICIENT_SCOPE',
      'exportUser NOT_FOUND',
      'exportUser NOT_FOUND',
    ]);
  });

  let dashboard: Omit<TestDashboard, 'seeded'>;

  async function startAll(): Promise<void> {
    dashboard = await startEmptyDashboard({});
  }

  const ask = async (query: string, variables: object) =>
    (await dashboard.gateway.query(query, variables)).data;
  const accountOf = async (userId: string) =>
    (
      await ask('query ($id: ID!) { user(id: $id) { email firstName lastName plan timeZone } }', {
        id: userId,
      })
    ).user;
  async function learner() {
    const { userId, email, ids } = await dashboard.newLearner(['Ohm’s law']);
    return { userId, email, materialId: ids[0] ?? '' };
  }
  const openProfile = (userId: string, options = {}) =>
    dashboard.openAt(`#/users/${userId}/profile`, options).then(({ page }) => page);
  const told = (page: Page, text: string | RegExp) => page.getByRole('status').getByText(text).waitFor();
});

/** Reviews. */
const A_DAY = /^about \d+(\.\d)?$/;

const NO_TARGET = 'none (SM-2 has no target)';

/** With amounts, or with neither. */
const EFFECT =
  /^Effect of the change: (hardly any difference|about (the same number of|[\d.]+ (fewer|more)) reviews? a day; of 100 reviews, about \d+ are forgotten(, as now| instead of \d+))\.$/;
