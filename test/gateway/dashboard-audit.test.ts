// The audit of all learners in the dashboard: filtered by who, what and when, and saved.
import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import { test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';
import { holdBack, save } from '../support/dashboard.ts';

describe.runIf(hasBrowser('the audit'))('the audit', () => {
  test('is found from the home, filtered, and saved as it is filtered', async ({ dashboard }) => {
    const name = randomUUID();
    const call = { requestId: 'my-request-18', caller: `gateway/${name}` };
    const { userEvents } = dashboard.gateway.clients;
    const [ada, bob] = [await dashboard.newLearner(['Ohm']), await dashboard.newLearner()];
    const record = (userId: string, action: string, subjectIds: string[] = []) =>
      userEvents.recordUserEvent({ userId, action, subjectIds }, call);
    await record(ada.userId, 'archiveMaterial', ada.ids);
    for (let index = 0; index < 25; index += 1) await record(bob.userId, 'updateUser');
    const { page, complaints } = await dashboard.openAt('#/');
    await page.getByRole('link', { name: 'Audit: what was done to them' }).click();
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    // As the list shows it.
    await page.getByLabel('By').fill(name);
    await page.getByLabel('By').press('Enter');
    const rows = page.getByRole('table', { name: 'Audit' }).locator('tbody tr');
    await rows.getByText('Changed the learner’s account').first().waitFor();
    await expect.poll(() => rows.count()).toBe(25);
    expect(await rows.first().innerText()).toContain(name);
    // Without the filter the first page has the same rows.
    await page.locator('.pager a[href*="actor="]').click();
    await rows.getByRole('link', { name: 'Ohm' }).waitFor();
    await page.getByLabel('Action').selectOption('archiveMaterial');
    const filtered = `#/audit?actor=${name}&action=archiveMaterial`;
    await expect.poll(() => new URL(page.url()).hash).toBe(filtered);
    await page.getByRole('link', { name: 'Previous page' }).waitFor({ state: 'detached' });
    expect(await rows.count()).toBe(1);
    expect(await rows.innerText()).toMatch(/Archived Ohm/);
    const csv = await save(page, 'Save all as CSV');
    expect(csv.name).toBe('audit.csv');
    const columns = csv.text
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(','));
    expect(columns.map((cells) => cells[4])).toEqual(['action', 'archiveMaterial']);
    const jsonl = await save(page, 'Save all as JSONL');
    expect(jsonl.name).toBe('audit.jsonl');
    const archive = { action: 'archiveMaterial', requestId: 'my-request-18', subjectIds: ada.ids };
    expect(JSON.parse(jsonl.text)).toMatchObject({ userId: ada.userId, ...archive });
    // The days are whole: today has it, and the time until yesterday has not.
    const day = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
    await page.getByLabel('From').fill(day(0));
    await page.getByLabel('From').press('Enter');
    await rows.getByText('Archived').waitFor();
    await page.getByLabel('From').fill('');
    await page.getByLabel('To').fill(day(1));
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('There is no such event.').waitFor();
    await page.getByRole('link', { name: 'Show all' }).click();
    await rows.first().waitFor();
    expect(complaints).toEqual([]);
    await rows.getByRole('link', { name }).first().click();
    await expect.poll(() => page.getByLabel('By').inputValue()).toBe(`gateway/${name}`);
  });

  test('has all the controls of its filter on one line, of one height', async ({ dashboard }) => {
    const { page } = await dashboard.openAt('#/audit');
    const controls = page.getByRole('search', { name: 'Filters' }).locator('input, select, button');
    await controls.first().waitFor();
    const boxes = await controls.evaluateAll((all) =>
      all.map((control) => {
        const { top, height } = control.getBoundingClientRect();
        return { top, height };
      }),
    );
    expect(boxes.map(({ height }) => height)).toEqual([34.5, 34.5, 34.5, 34.5, 34.5]);
    expect(new Set(boxes.map(({ top }) => top)).size).toBe(1);
  });

  test('can be filtered by each action that is recorded', async ({ dashboard }) => {
    const { data } = await dashboard.gateway.query('{ __schema { mutationType { fields { name } } } }');
    const mutations: string[] = data.__schema.mutationType.fields.map(({ name }: { name: string }) => name);
    const { page } = await dashboard.openAt('#/audit');
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    const options = page.getByLabel('Action').locator('option');
    const actions = await options.evaluateAll((all) => all.map((option) => option.getAttribute('value')));
    // A deleted learner has no events.
    const recorded = mutations.filter((name) => name !== 'deleteUser');
    expect(actions.toSorted()).toEqual(['', 'exportMaterials', 'exportUser', ...recorded].toSorted());
  });

  test('is filtered by typed dates when they are sent, also by one that is typed while the list loads', async ({
    dashboard,
  }) => {
    const { page } = await dashboard.openAt('#/audit');
    const hash = () => page.evaluate('location.hash');
    await page.getByLabel('To').fill('9999-12-31');
    await page.getByRole('button', { name: 'Search' }).click();
    expect(await page.locator('main input:invalid').count()).toBe(1);
    expect(await hash()).toBe('#/audit');
    await page.getByLabel('To').fill('');
    // Day and month are alike, in whichever order the browser takes them.
    await page.getByLabel('From').press('0');
    await page.keyboard.type('3032025');
    expect(await hash()).toBe('#/audit');
    const held = await holdBack(page);
    await page.getByRole('button', { name: 'Search' }).click();
    expect(await hash()).toBe('#/audit?from=2025-03-03');
    await page.locator('main[aria-busy]').waitFor();
    await page.getByLabel('To').press('0');
    await page.keyboard.type('4042025');
    held.letGo();
    await page.locator('main:not([aria-busy])').waitFor();
    await page.getByLabel('To').press('Enter');
    expect(await hash()).toBe('#/audit?from=2025-03-03&to=2025-04-04');
  });
});
