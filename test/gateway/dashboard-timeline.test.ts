// The timeline of a learner in Chromium: what it says, its filters, older events, and what operators can undo.
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';
import { countRequests, save } from '../support/dashboard.ts';
import { VIEWER } from '../support/gateway.ts';
import { card, past } from '../support/imports.ts';
import { stubDelivery, timestamp } from '../support/stub-reminders.ts';

describe.runIf(hasBrowser('the timeline'))('the timeline of a learner', () => {
  test.beforeAll(takeServices);

  test('says each event in words, in the learner’s zone, with who did it and the request; first which part is missing', async () => {
    const { userId, apiKeyId } = await busyLearner();
    dashboard.reminders.setAway(true);
    const page = await openTimeline(userId);
    const alert = page.getByRole('alert');
    expect(await alert.innerText()).toMatch(
      /^Reminders: not available\.\s+.*The rest is shown\.\s+Request ID [\w-]{36}/,
    );
    expect(await events(page)).toHaveLength(6);
    dashboard.reminders.setAway(false);
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Reminder by e-mail.').waitFor();
    expect(await page.title()).toBe(
      `Timeline of ${await page.locator('h1').innerText()} – Learning dashboard`,
    );
    expect(await events(page)).toEqual([
      'Reminder by e-mail. Sent 1 Jan 2099, 08:00.',
      'Archived Ohm’s law',
      'Snoozed Ohm’s law until 1 Jan 2099, 09:00: “A holiday”',
      'Submitted a review of Ohm’s law',
      'Reviewed Ohm’s law: grade 4, due again after 1 day',
      'Created Ohm’s law',
      `Created the key …${apiKeyId.slice(-8)}`,
    ]);
    const [reminder, archived, , , , , key] = await page.locator('tbody tr').all();
    expect(await reminder?.locator('th').innerText()).toBe('1 Jan 2099, 08:00');
    expect(await archived?.locator('td[data-column=By]').innerText()).toBe('olga');
    expect(await key?.locator('td[data-column=By]').innerText()).toBe('npm run keys');
    const { requestId = '' } = dashboard.gateway.audited.at(-1) ?? {};
    await archived?.getByRole('button', { name: `Copy request ID …${requestId.slice(-8)}` }).click();
    await page.getByRole('status').getByText('Copied.').waitFor();

    // The kinds that are shown are kept in the address and in the tab.
    await page.getByLabel('Snoozes').check();
    await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' });
    await page.getByLabel('Keys').check();
    await page.locator('tbody tr').nth(1).waitFor();
    expect(new URL(page.url()).hash).toBe(`#/users/${userId}/timeline?kind=SNOOZE&kind=KEY`);
    expect(await events(page)).toEqual([
      'Snoozed Ohm’s law until 1 Jan 2099, 09:00: “A holiday”',
      expect.stringMatching(/^Created the key/),
    ]);
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByRole('button', { name: 'Create a key' }).waitFor();
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.getByRole('group', { name: 'Show only' }).waitFor();
    expect(await page.getByLabel('Snoozes').isChecked()).toBe(true);
    expect(await events(page)).toHaveLength(2);
  });

  test('tells a person from the program of the same name', async () => {
    const { userId } = await dashboard.system.createUser();
    for (const caller of ['users', 'gateway/users'])
      await dashboard.gateway.clients.userEvents.recordUserEvent(
        { userId, action: 'updateUser' },
        { requestId: 'test', caller },
      );
    const page = await openTimeline(userId);
    await page.getByText('Changed the learner’s account').first().waitFor();
    const by = page.locator('tbody td[data-column=By]');
    expect(await by.allInnerTexts()).toEqual(['users', 'npm run users', 'npm run keys']);
  });

  test('undoes an archive and a snooze by keyboard, and then has nothing more to undo', async () => {
    const { userId, materialId } = await busyLearner();
    const page = await openTimeline(userId);
    const buttons = page.getByRole('button', { name: /^Undo/ });
    await page.getByRole('button', { name: 'Undo the archive of Ohm’s law' }).press('Enter');
    await page.getByText('Restored Ohm’s law').waitFor();
    await page.getByRole('button', { name: 'Undo the snooze of Ohm’s law' }).press('Enter');
    await page.getByText('Cancelled the snooze of Ohm’s law').waitFor();
    expect(await buttons.count()).toBe(0);
    const snoozed = page.getByText(/^Snoozed Ohm’s law until .*“A holiday”\. Cancelled \d/);
    await snoozed.waitFor();
    const { data } = await dashboard.gateway.query(
      `{ material(userId: "${userId}", id: "${materialId}") { archivedAt nextReview } }`,
    );
    expect(data.material).toEqual({ archivedAt: null, nextReview: expect.stringMatching(/^20[2-4]\d-/) });
    await page.getByRole('link', { name: 'Ohm’s law' }).first().click();
    const until = page.getByRole('table', { name: 'Snoozes' }).locator('td[data-column=Until]');
    expect(await until.innerText()).toMatch(/^1 Jan 2099, 09:00\s+cancelled \d/);
    expect(await page.locator('td[data-column="Together with"]').innerText()).toBe('–');
  });

  test('undoes a snooze once for a double click, and says that it is undone', async () => {
    const { userId } = await busyLearner();
    const page = await openTimeline(userId, '?kind=SNOOZE');
    const sent = countRequests(page, 'mutation CancelSnooze');
    await page.getByRole('button', { name: 'Undo the snooze of Ohm’s law' }).dblclick();
    await page.getByText(/“A holiday”\. Cancelled \d/).waitFor();
    expect(await page.locator('#status').innerText()).toBe('Undone: 1 material due as before the snooze');
    expect(sent()).toBe(1);
  });

  test('undoes a review, which stays, marked', async () => {
    const { userId } = await dashboard.system.createUser(['profile:read'], 'Asia/Tokyo');
    const materialId = await newMaterial(userId, 'Ohm’s law');
    await change('submitReview', { userId, materialId, quality: 1 });
    const page = await openTimeline(userId, '?kind=REVIEW');
    await page.getByRole('button', { name: 'Undo the review of Ohm’s law' }).press('Enter');
    await page.getByText('Undone: the review of Ohm’s law, due as before it').waitFor();
    await page.getByText(/^Reviewed Ohm’s law: grade 1, due again after 1 day\. Undone \d/).waitFor();
    expect(await page.getByRole('button', { name: /^Undo/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'Ohm’s law' }).first().click();
    await page.getByText('Each review of this material was undone.').waitFor();
  });

  test('says that nothing is undone of a snooze whose material was reviewed since the page was opened', async () => {
    const { userId, materialId } = await busyLearner();
    const page = await openTimeline(userId, '?kind=SNOOZE');
    await change('restoreMaterial', { userId, materialId });
    await change('submitReview', { userId, materialId, quality: 4 });
    await page.getByRole('button', { name: 'Undo the snooze of Ohm’s law' }).click();
    await page.getByText('Nothing to undo: no material waits for this snooze any more.').waitFor();
    await expect.poll(() => page.getByRole('button', { name: /^Undo/ }).count()).toBe(0);
  });

  test('undoes one review after the other, the latest first, whatever was undone before and of another material', async () => {
    const { userId } = await dashboard.system.createUser(['profile:read']);
    const materialId = await newMaterial(userId, 'Ohm’s law');
    const another = await newMaterial(userId, 'Volt');
    for (const reviewed of [materialId, another, another, another]) {
      const { review } = await change(
        'submitReview',
        { userId, materialId: reviewed, quality: 0 },
        'review { id }',
      );
      await change('undoReview', { userId, reviewId: review.id });
    }
    for (const quality of [4, 5, 3]) await change('submitReview', { userId, materialId, quality });
    const page = await openTimeline(userId, '?kind=REVIEW');
    const buttons = page.getByRole('button', { name: 'Undo the review of Ohm’s law' });
    for (const grade of [3, 5, 4]) {
      const row = page.getByRole('row').filter({ hasText: `grade ${grade}` });
      expect(await buttons.count()).toBe(1);
      await row.getByRole('button', { name: /^Undo/ }).click();
      await row.getByText(/Undone \d/).waitFor();
    }
    expect(await buttons.count()).toBe(0);
  });

  test('says why a review is not undone whose material was edited since the page was opened', async () => {
    const { userId } = await dashboard.system.createUser(['profile:read']);
    const materialId = await newMaterial(userId, 'Ohm’s law');
    await change('submitReview', { userId, materialId, quality: 1 });
    const page = await openTimeline(userId, '?kind=REVIEW');
    await change('updateMaterial', { userId, materialId, title: 'Ohm' });
    await page.getByRole('button', { name: 'Undo the review of Ohm’s law' }).click();
    await page
      .getByText('The material was snoozed, edited, archived or imported since. Its schedule stays as it is.')
      .waitFor();
    expect(await events(page)).toEqual(['Reviewed Ohm’s law: grade 1, due again after 1 day']);
  });

  test('offers no undo of a review that was imported', async () => {
    const { userId } = await dashboard.system.createUser(['profile:read']);
    const now = new Date().toISOString();
    const studied = { title: 'Ohm’s law', lastReviewedTime: timestamp(now), reviews: [past('1', 4, now)] };
    await dashboard.gateway.clients.userData.importUserData(
      [{ options: { userId } }, { materials: [card('anki:a:1', studied)] }],
      { requestId: 'test' },
    );
    const page = await openTimeline(userId, '?kind=REVIEW');
    expect(await events(page)).toEqual([expect.stringMatching(/^Reviewed Ohm’s law: grade 4/)]);
    expect(await page.getByRole('button', { name: /^Undo/ }).count()).toBe(0);
  });

  test('of several archives of a material only the latest can be undone', async () => {
    const { userId, materialId } = await busyLearner();
    for (const action of ['restoreMaterial', 'archiveMaterial']) await change(action, { userId, materialId });
    const page = await openTimeline(userId, '?kind=OPERATOR');
    expect((await events(page)).slice(0, 4)).toEqual([
      'Archived Ohm’s law',
      'Restored Ohm’s law',
      'Archived Ohm’s law',
      'Snoozed Ohm’s law',
    ]);
    expect(await page.getByRole('button', { name: 'Undo the archive' }).count()).toBe(1);
  });

  test('of several archived materials each can be restored', async () => {
    const { userId } = await dashboard.system.createUser(['profile:read']);
    for (const title of ['Ohm', 'Volt']) {
      const materialId = await newMaterial(userId, title);
      await change('archiveMaterial', { userId, materialId });
    }
    const page = await openTimeline(userId, '?kind=OPERATOR');
    expect(await events(page)).toEqual(['Archived Volt', 'Created Volt', 'Archived Ohm', 'Created Ohm']);
    const buttons = page.getByRole('button', { name: /^Undo/ });
    expect(await buttons.evaluateAll((all) => all.map((each) => each.getAttribute('aria-label')))).toEqual([
      'Undo the archive of Volt',
      'Undo the archive of Ohm',
    ]);
  });

  test('shows viewers everything and no button to undo', async () => {
    const { userId } = await busyLearner();
    const page = await openTimeline(userId, '', { token: VIEWER });
    expect(await events(page)).toHaveLength(7);
    expect(await page.getByRole('button', { name: /^Undo/ }).count()).toBe(0);
  });

  test('loads older events by a button, each once, and none where a part of them would be missing', async () => {
    const { userId } = await dashboard.system.createUser(['profile:read']);
    const materialId = await newMaterial(userId, 'First');
    for (let index = 0; index < 60; index += 1)
      await change('updateMaterial', { userId, materialId, title: `T${index}` });
    const page = await openTimeline(userId);
    expect(await events(page)).toHaveLength(50);
    dashboard.reminders.setAway(true);
    await page.getByRole('button', { name: 'Load older events' }).click();
    await page.getByText('Reminders: not available. Wait a moment, then try again.').waitFor();
    expect(await events(page)).toHaveLength(50);
    dashboard.reminders.setAway(false);
    await page.getByRole('button', { name: 'Load older events' }).press('Enter');
    await page.locator('tbody tr').nth(61).waitFor();
    const all = await events(page);
    expect(all).toHaveLength(62);
    expect(all.filter((line) => line === 'Edited T59: title')).toHaveLength(60);
    expect(await page.getByRole('button', { name: 'Load older events' }).count()).toBe(0);
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe('Timeline: table');

    // Of the kinds that are shown alone, without the key.
    await page.getByLabel('Operators').check();
    const count = async () => (await events(page)).length;
    await expect.poll(count).toBe(50);
    await page.getByRole('button', { name: 'Load older events' }).click();
    await expect.poll(count).toBeGreaterThan(50);
    expect(await count()).toBe(61);
  });

  test('names the key that acted and those acted upon, and after a rotation which replaced which', async () => {
    const { userId } = await dashboard.system.createUser(['profile:read']);
    const keyFields = 'key apiKey { id }';
    const scopes = ['materials:write', 'snooze:write'];
    const create = { userId, name: 'phone', scopes };
    const made = await change('createApiKey', create, keyFields);
    const rotate = { apiKeyId: made.apiKey.id };
    const rotated = await change('rotateApiKey', rotate, keyFields);
    const materialId = await newMaterial(userId, 'Ohm’s law');
    const response = await fetch(`${dashboard.system.origins[0]}/v1/materials/${materialId}/snooze`, {
      method: 'POST',
      headers: { authorization: `Bearer ${rotated.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ preset: '1h' }),
    });
    expect(response.status).toBeLessThan(300);
    const page = await openTimeline(userId, '?kind=SNOOZE&kind=KEY');
    const row = page.locator('tbody tr').first();
    expect(await row.locator('td[data-column=By]').innerText()).toBe('Key “phone”');
    const nameOf = (id: string) => `“phone” …${id.slice(-8)}`;
    expect((await events(page)).slice(1, 3)).toEqual([
      `Replaced the key ${nameOf(made.apiKey.id)} by ${nameOf(rotated.apiKey.id)}`,
      `Created the key ${nameOf(made.apiKey.id)}`,
    ]);
  });

  test('says where a snooze had no effect, and offers no undo for it', async () => {
    const { userId } = await dashboard.system.createUser(['profile:read']);
    const late = await newMaterial(userId, 'Late');
    const early = await newMaterial(userId, 'Early');
    const snooze = (materialIds: string[], snoozeUntil: string) =>
      change('snoozeMaterials', { userId, materialIds, snoozeUntil });
    await snooze([late], '2099-01-01T00:00:00Z');
    await snooze([early, late], '2098-01-01T00:00:00Z');
    await snooze([late], '2097-01-01T00:00:00Z');
    const page = await openTimeline(userId, '?kind=SNOOZE');
    expect(await events(page)).toEqual([
      'Snoozed Late until 1 Jan 2097, 00:00. No effect: due later anyway',
      'Snoozed Early and 1 other until 1 Jan 2098, 00:00. No effect on 1 material: due later anyway',
      'Snoozed Late until 1 Jan 2099, 00:00',
    ]);
    const undo = page.locator('tbody tr').first().getByRole('button', { name: /^Undo/ });
    expect(await undo.count()).toBe(0);
    await page.getByRole('link', { name: 'Late' }).first().click();
    await page.getByText('no effect: due later anyway').first().waitFor();
  });

  test('is saved as CSV and JSONL, of the chosen kinds, with no text that a spreadsheet runs', async () => {
    const { userId, materialId } = await busyLearner();
    const reason = '=HYPERLINK("http://example.com"), "now"';
    const input = { userId, materialIds: [materialId], snoozeUntil: '2099-02-01T00:00:00.250Z', reason };
    await change('restoreMaterial', { userId, materialId });
    await change('snoozeMaterials', input);
    const page = await openTimeline(userId, '?kind=REVIEW&kind=SNOOZE');
    const lines = async (format: string) => {
      const { name, text } = await save(page, `Save all as ${format}`);
      expect(name).toContain(`-timeline.${format.toLowerCase()}`);
      return text.trimEnd().split(/\r?\n/);
    };
    const [head, newest, ...rest] = await lines('CSV');
    expect(head?.split(',').slice(0, 4)).toEqual(['\ufefftime', 'kind', 'action', 'by']);
    expect(newest).toContain(`,"'=HYPERLINK(""http://example.com""), ""now""",`);
    expect(rest.map((line) => line.split(',')[1])).toEqual(['SNOOZE', 'REVIEW']);
    expect((await lines('JSONL')).map((line) => JSON.parse(line))).toMatchObject([
      { kind: 'SNOOZE', by: 'gateway/olga', reason, snoozeUntil: '2099-02-01T00:00:00.250Z' },
      { kind: 'SNOOZE', materialTitle: 'Ohm’s law', subjectIds: [materialId] },
      { kind: 'REVIEW', grade: 4, intervalDays: 1 },
    ]);
  });

  test('of a learner without events is one sentence, and of a test of reminders says so', async () => {
    const email = `${crypto.randomUUID()}@example.com`;
    const { user } = await dashboard.system.accounts.users.createUser({ email }, { requestId: 'test' });
    const page = await openTimeline(user?.userId ?? '');
    await page.getByText('Nothing has happened to this learner yet.').waitFor();
    await page.getByLabel('Reviews').check();
    await page.getByText('There is no such event.').waitFor();
    dashboard.reminders.of(user?.userId ?? '').deliveries.push(stubDelivery({ isTest: true }));
    await page.getByLabel('Reviews').uncheck();
    await page.getByText('Test reminder by e-mail. Waiting to be sent.').waitFor();
  });

  let dashboard: Given<'dashboard'>['dashboard'];

  function takeServices({ dashboard: shared }: Given<'dashboard'>): void {
    dashboard = shared;
  }

  const change = (name: string, input: object, fields?: string) =>
    dashboard.gateway.mutate(name, input, fields);
  async function newMaterial(userId: string, title: string): Promise<string> {
    const { material } = await change('createMaterial', { userId, title }, 'material { id }');
    return material.id;
  }
  async function busyLearner() {
    const { userId, apiKeyId } = await dashboard.system.createUser(['profile:read'], 'Asia/Tokyo');
    const materialId = await newMaterial(userId, 'Ohm’s law');
    await change('submitReview', { userId, materialId, quality: 4 });
    const until = { snoozeUntil: '2099-01-01T00:00:00Z', reason: 'A holiday' };
    await change('snoozeMaterials', { userId, materialIds: [materialId], ...until });
    await change('archiveMaterial', { userId, materialId });
    const createTime = timestamp('2098-12-31T23:00:00Z');
    const sent = { state: 'DELIVERY_STATE_SENT' as const, updateTime: createTime, createTime };
    dashboard.reminders.of(userId).deliveries.push(stubDelivery(sent));
    return { userId, apiKeyId, materialId };
  }
  const openTimeline = async (userId: string, query = '', options: { token?: string } = {}) => {
    const { page } = await dashboard.openAt(`#/users/${userId}/timeline${query}`, options);
    await page.getByRole('group', { name: 'Show only' }).waitFor();
    return page;
  };
  /** The events, without their times. */
  const events = (page: Page) =>
    page.getByRole('region', { name: 'Timeline: table' }).locator('td[data-column=Event]').allInnerTexts();
});
