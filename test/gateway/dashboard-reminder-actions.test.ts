// What operators do with reminders in the dashboard, in a real browser against the real reminders service.
import type { Page, Route } from 'playwright-core';
import { afterAll, describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';
import { ask } from '../support/database.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startRemindersBeside } from '../support/reminders-beside.ts';

describe.runIf(hasBrowser('changes of reminders'))('an operator at reminders', () => {
  test.beforeAll(startAll);
  afterAll(stopAll);

  test('finds whose e-mail was switched off, and why, 25 a page', async () => {
    const switchOff = async () => {
      const { userId } = await newUser();
      await gateway.mutate('setEmailReminders', { userId, enabled: false });
      return userId;
    };
    const userId = await switchOff();
    const { page, complaints } = await dashboard.openAt('#/email-off', { origin: gateway.origin });
    const row = page.getByRole('row').filter({ hasText: 'It was switched off in the settings.' });
    // Other files switch e-mail off as well; the latest is first.
    await row.first().getByRole('link').click();
    await page.getByRole('button', { name: 'Switch e-mail on' }).waitFor();
    expect(await page.evaluate('location.hash')).toBe(`#/users/${userId}/reminders`);
    const { data } = await gateway.query('{ emailOffUsers { totalCount nodes { userId } } }');
    expect(data.emailOffUsers.nodes[0]).toEqual({ userId });
    for (let count = 1; count <= 25; count += 1) await switchOff();
    const after = await gateway.query('{ emailOffUsers { totalCount } }');
    expect(after.data.emailOffUsers.totalCount).toBe(data.emailOffUsers.totalCount + 25);
    await page.goto(`${gateway.origin}/dashboard#/email-off`);
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: 'Previous page' }).waitFor();
    const latest = page.getByRole('row').locator('a').first();
    expect(await latest.getAttribute('href')).toBe(`#/users/${userId}/reminders`);
    expect(complaints).toEqual([]);
  });

  test('switches on again all whom the mail server refused, and nobody else', async () => {
    const [refused, unsubscribed] = [await newUser(), await newUser()];
    await ask(
      dashboard.system.databaseUrl,
      `INSERT INTO reminders.users (user_id, unsubscribe_token, email_off_reason, email_off_time)
       VALUES ('${refused.userId}', '1', 'refused', now()), ('${unsubscribed.userId}', '2', 'unsubscribed', now())`,
    );
    const { page, complaints } = await dashboard.openAt('#/email-off', { origin: gateway.origin });
    await press(page, 'Switch e-mail on for refused learners');
    await page.getByRole('dialog').getByLabel('Switched off in').selectOption('the last hour');
    await answer(page, 'Switch on');
    await page.getByText(/^E-mail is on again for \d+ learners?\.$/).waitFor();
    const isOn = async ({ userId }: { userId: string }) =>
      (await gateway.query(`{ user(id: "${userId}") { emailReminders { enabled } } }`)).data.user
        .emailReminders.enabled;
    expect([await isOn(refused), await isOn(unsubscribed)]).toEqual([true, false]);
    await page.goto(`${gateway.origin}/dashboard#/users/${refused.userId}/timeline`);
    await page
      .getByText('Switched e-mail reminders on again, as for all whom the mail server had refused')
      .waitFor();
    expect(complaints).toEqual([]);
  });

  test('adds, edits, pauses, resumes, switches and deletes one', async () => {
    const { userId, held } = await newUser('Asia/Tokyo');
    const { page, complaints } = await open(userId);
    const dialog = page.getByRole('dialog');
    await press(page, 'Add a reminder');
    await dialog.getByLabel('Time').fill('07:15');
    await dialog.getByLabel('Saturday').uncheck();
    await dialog.getByLabel('Sunday').uncheck();
    await dialog.getByLabel('e-mail').uncheck();
    await answer(page, 'Add');
    // The browser refuses a reminder without a channel.
    const complaint = dialog
      .getByLabel('e-mail')
      .evaluate((box) => (box as { validationMessage: string }).validationMessage);
    expect(await complaint).toBe('Choose at least one channel.');
    await dialog.getByLabel('push').check();
    await dialog.getByLabel('Minimum due').fill('5');
    await dialog.getByLabel('Labels').fill('Spanish/Verbs\nhouse, home');
    await dialog.getByLabel('Only if not reviewed today').check();
    await answer(page, 'Add');
    await page.getByText('Added: 07:15, Mon–Fri').waitFor();
    const reminder = {
      time: '07:15',
      weekdays: ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY'],
      channels: ['PUSH'],
      minDue: 5,
      labels: ['Spanish/Verbs', 'house, home'],
      onlyIfNotReviewedToday: true,
      pausedUntil: null,
      enabled: true,
    };
    expect((await held()).reminders).toEqual([reminder]);

    await press(page, 'Edit 07:15, Mon–Fri');
    await dialog.getByLabel('Time').fill('21:00');
    await dialog.getByLabel('Minimum due').fill('1');
    await dialog.getByLabel('Labels').fill('');
    await answer(page, 'Save');
    await page.getByText('Saved: 21:00, Mon–Fri').waitFor();
    expect((await held()).reminders).toEqual([{ ...reminder, time: '21:00', minDue: 1, labels: [] }]);

    await press(page, 'Pause 21:00');
    await dialog.getByLabel('Paused until').fill('2020-01-01T00:00');
    await answer(page, 'Pause');
    await dialog.getByText('This time is past. Choose a later one.').waitFor();
    await dialog.getByLabel('Paused until').fill('2099-02-01T09:00');
    await answer(page, 'Pause');
    await page.getByText('Paused until 1 Feb 2099, 09:00: 21:00, Mon–Fri').waitFor();
    expect((await held()).reminders[0].pausedUntil).toBe('2099-02-01T00:00:00.000Z');
    await press(page, 'Resume 21:00');
    await page.getByRole('button', { name: 'Pause 21:00' }).waitFor();
    expect((await held()).reminders[0].pausedUntil).toBeNull();

    await page.getByRole('button', { name: 'Switch off 21:00' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Switch on 21:00' }).waitFor();
    expect((await held()).reminders[0].enabled).toBe(false);
    // The focus stays on the button, so that a second Enter undoes the first.
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Switch off 21:00' }).waitFor();
    expect((await held()).reminders[0].enabled).toBe(true);

    await press(page, 'Delete 21:00');
    await answer(page, 'Delete permanently');
    await page.getByText('This learner has no reminder.').waitFor();
    expect((await held()).reminders).toEqual([]);
    for (let made = 1; made <= 10; made += 1)
      await gateway.mutate('createReminder', { userId, time: '06:00', channels: ['PUSH'] });
    await press(page, 'Add a reminder');
    await answer(page, 'Add');
    await dialog.getByText('A user has at most 10 reminders.').waitFor();
    expect(complaints).toEqual([]);
  });

  test('sends tests by e-mail, sees why it went off, and switches it', async () => {
    const { userId, held } = await newUser();
    const { page } = await open(userId);
    const dialog = page.getByRole('dialog');
    await press(page, 'Send a test by e-mail');
    await dialog.getByText(/^e-mail: Sent \d+ \w+ \d{4}, \d\d:\d\d\.$/).waitFor();
    await answer(page, 'Done');
    const reason = 'The mail server refused the message (550).';
    service.ends.mail = { result: 'failed', reason, cause: 'refused' };
    for (let refused = 1; refused <= 3; refused += 1) {
      await press(page, 'Send a test by e-mail');
      await dialog.getByText(`e-mail: Failed: ${reason}`).waitFor();
      await answer(page, 'Done');
    }
    const off = /^Off since \w+, \d+ \w+ \d{4}: the mail server refused three messages in a row\.$/;
    await page.getByText(off).waitFor();
    await press(page, 'Switch e-mail on');
    const told =
      /^The mail server refused three messages in a row\. Reminders go to [\w-]+@example\.com again: check this address first\.$/;
    await dialog.getByText(told).waitFor();
    // The address was mistyped, and is corrected before mails are sent again.
    await answer(page, 'Cancel');
    const email = `${userId}@example.com`;
    await gateway.mutate('updateUser', { userId, email });
    await page.reload();
    await press(page, 'Switch e-mail on');
    await dialog.getByText(`Reminders go to ${email} again: check this address first.`).waitFor();
    await answer(page, 'Switch on');
    await page.getByText('On.', { exact: true }).waitFor();
    await page.locator('#status').getByText('E-mail is on.').waitFor();
    expect((await held()).emailReminders).toEqual({ enabled: true });
    await press(page, 'Switch e-mail off');
    await page.getByText(/^Off since \w+, \d+ \w+ \d{4}: it was switched off in the settings\.$/).waitFor();
    await page.locator('#status').getByText('E-mail is off.').waitFor();
    expect((await held()).emailReminders).toEqual({ enabled: false });
  });

  test('does not switch e-mail on by a page that is older than the learner’s unsubscription', async () => {
    const { userId, held } = await newUser();
    const { page, complaints } = await open(userId);
    const dialog = page.getByRole('dialog');
    await press(page, 'Switch e-mail off');
    await press(page, 'Switch e-mail on');
    await dialog.getByText(/^Reminders go to \w+@example\.com again\.$/).waitFor();
    await ask(
      dashboard.system.databaseUrl,
      `UPDATE reminders.users SET email_off_reason = 'unsubscribed' WHERE user_id = '${userId}'`,
    );
    await answer(page, 'Switch on');
    await dialog.getByText('Why e-mail is off has changed. Reload the page.').waitFor();
    expect((await held()).emailReminders).toEqual({ enabled: false });

    await page.reload();
    await press(page, 'Switch e-mail on');
    await dialog
      .getByText('The learner unsubscribed. Switch e-mail on only if they ask for it.', { exact: true })
      .waitFor();
    await answer(page, 'Switch on');
    await page.getByText('On.', { exact: true }).waitFor();
    expect((await held()).emailReminders).toEqual({ enabled: true });
    expect(complaints).toEqual([]);
  });

  test.each([
    ['is lost', (route: Route) => route.abort(), 'The change may have been made anyway'],
    [
      'comes from a proxy before the gateway’s',
      (route: Route) => route.fulfill({ status: 504, body: '<h1>Gateway time-out</h1>' }),
      'The gateway answered HTTP 504. The change may have been made anyway',
    ],
  ])('is told to look first where the answer to a change %s', async (_, end, told) => {
    const { userId, held } = await newUser();
    const { page } = await open(userId);
    await press(page, 'Add a reminder');
    const answerOtherwise = async (route: Route) => {
      await route.fetch();
      await end(route);
    };
    await page.route('**/graphql', answerOtherwise, { times: 1 });
    await answer(page, 'Add');
    await page.getByText(told).waitFor();
    // Added once.
    expect((await held()).reminders).toHaveLength(1);
  });

  test('shows a new calendar address once, which Esc does not lose, and ends it', async () => {
    const { userId, held } = await newUser();
    const { page } = await open(userId);
    const dialog = page.getByRole('dialog');
    await press(page, 'New address');
    await dialog.getByText('to subscribe to in a calendar program').waitFor();
    expect(await dialog.getByText('stops working').count()).toBe(0);
    await answer(page, 'Make the address');
    await dialog.getByLabel('Address').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    const address = await dialog.getByLabel('Address').inputValue();
    expect(address).toMatch(/^https:\/\/remind\.example\.com\/calendar\/[\w-]{43}\.ics$/);
    await answer(page, 'Copy');
    await dialog.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(address);
    await answer(page, 'Done');
    await page.getByText(/^There is an address, made \d/).waitFor();
    await expect.poll(() => page.content()).not.toContain('remind.example.com');
    const { calendarFeed } = await held();
    await press(page, 'New address');
    await dialog.getByText('The present address stops working immediately.').waitFor();
    await page.keyboard.press('Escape');
    expect((await held()).calendarFeed).toEqual(calendarFeed);

    await press(page, 'End the address');
    await answer(page, 'End it permanently');
    await page.getByText('There is no calendar address.').waitFor();
    expect((await held()).calendarFeed).toBeNull();
  });

  test('sends a test to each browser, five an hour, and deletes one', async () => {
    const { userId, held } = await newUser();
    const registerAt = (host: string) => {
      const keys = { p256dh: 'key', auth: 'secret' };
      return gateway.mutate('registerPushSubscription', { userId, endpoint: `https://${host}/1`, ...keys });
    };
    await registerAt('push.example.net');
    const { page } = await open(userId);
    await registerAt('web.example.org');
    const dialog = page.getByRole('dialog');
    service.ends.push = { result: 'failed', reason: 'The push service refused it (413).', cause: 'refused' };
    const told = async () => (await dialog.locator('p').allInnerTexts()).toSorted();
    await press(page, 'Send a test by push');
    await expect
      .poll(told)
      .toEqual([
        'push, a new browser: Failed: The push service refused it (413).',
        'push, push.example.net: Failed: The push service refused it (413).',
      ]);
    await answer(page, 'Done');
    for (let sent = 2; sent <= 5; sent += 1)
      await gateway.mutate('sendTestReminder', { userId, channel: 'PUSH' });
    await press(page, 'Send a test by push');
    await dialog
      .getByText(/At most 5 tests an hour are sent to a user\. Try again in (59|60) min\./)
      .waitFor();
    await answer(page, 'Done');

    await press(page, 'Delete push.example.net');
    await answer(page, 'Delete');
    await page.getByText('Deleted: push.example.net').waitFor();
    expect((await held()).pushSubscriptions).toEqual([{ host: 'web.example.org' }]);
    await page.getByText('push, a browser that was removed').first().waitFor();
  });

  let dashboard: Given<'dashboard'>['dashboard'];
  let service: Awaited<ReturnType<typeof startRemindersBeside>>;
  let gateway: TestGateway;

  async function startAll({ dashboard: shared }: Given<'dashboard'>): Promise<void> {
    dashboard = shared;
    service = await startRemindersBeside(dashboard.system);
    gateway = await startTestGateway({ ...dashboard.system, remindersTarget: service.target });
  }

  async function stopAll(): Promise<void> {
    await gateway.stop();
    await service.stop();
  }

  const newUser = async (timeZone = 'UTC') => {
    const { userId } = await dashboard.system.createUser([], timeZone);
    return { userId, held: async () => (await gateway.query(HELD, { id: userId })).data.user };
  };
  const open = async (userId: string) => {
    const opened = await dashboard.openAt(`#/users/${userId}/reminders`, { origin: gateway.origin });
    await opened.page.getByRole('heading', { name: 'Latest deliveries' }).waitFor();
    return opened;
  };
  const press = (page: Page, name: string) => page.getByRole('button', { name }).click();
  const answer = (page: Page, name: string) => page.getByRole('dialog').getByRole('button', { name }).click();
});

const HELD = `query ($id: ID) { user(id: $id) {
  reminders { time weekdays channels minDue labels onlyIfNotReviewedToday pausedUntil enabled }
  emailReminders { enabled } calendarFeed { createdAt } pushSubscriptions { host } } }`;
