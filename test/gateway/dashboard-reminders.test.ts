// What the dashboard says of a learner's reminders, in a real browser. The stub holds states that would take days to come.
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import type { DeliveryInput } from '../../generated/reminders/v1/Delivery.ts';
import { type Given, test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';
import { holdBack, rowsOf } from '../support/dashboard.ts';
import { startTestGateway, VIEWER } from '../support/gateway.ts';
import { MADE, stubDelivery, stubReminder, timestamp } from '../support/stub-reminders.ts';

describe.runIf(hasBrowser('what the dashboard says of reminders'))('the tab Reminders', () => {
  test.beforeAll(takeServices);

  test('tells when the next reminder comes and lists all of them, on the learner’s clock', async () => {
    const { held, hash } = await newUser('Asia/Tokyo');
    held.subscriptions.push({
      subscriptionId: 's',
      endpointHost: 'push.example.net',
      createTime: timestamp(MADE),
    });
    held.reminders.push(
      stubReminder({
        timeOfDay: '18:30',
        weekdays: [1, 2, 3, 4, 5],
        minDue: 20,
        labels: ['Spanish', 'irregular'],
        nextTime: timestamp('2099-02-02T09:30:30Z'),
      }),
      stubReminder({
        timeOfDay: '07:00',
        channels: ['CHANNEL_EMAIL', 'CHANNEL_PUSH'],
        onlyIfNotReviewedToday: true,
        labels: ['Spanish/Verbs'],
        nextTime: timestamp('2099-01-14T22:00:30Z'),
      }),
      stubReminder({ timeOfDay: '12:00', weekdays: [1, 3, 6, 7], enabled: false, nextTime: null }),
      stubReminder({
        timeOfDay: '06:00',
        weekdays: [7],
        pausedUntilTime: timestamp('2099-03-01T00:00:00Z'),
        nextTime: timestamp('2099-01-10T21:00:30Z'),
      }),
      // Its pause is over.
      stubReminder({
        timeOfDay: '20:00',
        pausedUntilTime: timestamp('2020-03-01T00:00:00Z'),
        nextTime: timestamp('2099-02-05T11:00:30Z'),
      }),
    );
    const { page, complaints } = await open(hash);
    expect((await next(page)).replace(/in [\d,]+ years/, 'in N years')).toBe(
      'The next reminder comes 15 Jan 2099, 07:00 (in N years), by e-mail and push, if a review of “Spanish/Verbs” is due then and none was done that day.',
    );
    const rows = await rowsOf(page, 'Reminders');
    const settings = rows.map((row) =>
      row.slice(0, -1).map((cell) => cell?.replace(/in [\d,]+ years/, 'in N years')),
    );
    expect(settings).toEqual([
      [
        '18:30',
        'Mon–Fri',
        'e-mail',
        '20',
        'Spanishirregular',
        'no',
        '–',
        'yes',
        '2 Feb 2099, 18:30 (in N years)',
      ],
      [
        '07:00',
        'every day',
        'e-mail, push',
        '1',
        'Spanish/Verbs',
        'yes',
        '–',
        'yes',
        '15 Jan 2099, 07:00 (in N years)',
      ],
      ['12:00', 'Mon, Wed, Sat, Sun', 'e-mail', '1', 'all', 'no', '–', 'no', '–'],
      ['06:00', 'Sun', 'e-mail', '1', 'all', 'no', '1 Mar 2099, 09:00', 'yes', 'after the pause'],
      ['20:00', 'every day', 'e-mail', '1', 'all', 'no', '–', 'yes', '5 Feb 2099, 20:00 (in N years)'],
    ]);
    expect(await page.getByRole('button', { name: /^(Pause|Resume) (06|20):00/ }).allInnerTexts()).toEqual([
      'Resume',
      'Pause',
    ]);
    expect(complaints).toEqual([]);
  });

  test('says why no reminder comes, and what to do', async () => {
    const { held, hash } = await newUser();
    const { page } = await open(hash);
    const told = async () => {
      await showAgain(page);
      return page.locator('#next-reminder').innerText();
    };
    expect(await told()).toBe('This learner has no reminder. Add one to tell them when reviews are due.');
    held.reminders = [stubReminder({ enabled: false, nextTime: null })];
    expect(await told()).toBe('No reminder comes: all are switched off. Switch one on below.');
    held.reminders = [stubReminder({ channels: ['CHANNEL_EMAIL', 'CHANNEL_PUSH'] })];
    held.email = { enabled: false, offReason: 'EMAIL_OFF_REASON_UNSUBSCRIBED', offTime: timestamp(MADE) };
    expect(await told()).toBe(
      'No reminder comes: e-mail is off, and no browser takes push messages. Switch e-mail on below, or give a reminder another channel.',
    );
    expect((await rowsOf(page, 'Reminders')).map((row) => row.at(-2))).toEqual(['no channel available']);
    held.email = { enabled: true };
    held.reminders = [stubReminder({ pausedUntilTime: timestamp('2099-02-01T12:00:00Z') })];
    expect(await told()).toBe(
      'No reminder comes before 1 Feb 2099, 12:00: until then they are paused. Resume one below if it should come earlier.',
    );
    const labels = ['Spanish', 'irregular'];
    held.reminders.push(stubReminder({ minDue: 5, labels, nextTime: timestamp('2099-02-02T08:00:30Z') }));
    expect((await told()).replace(/in [\d,]+ years/, 'in N years')).toBe(
      'The next reminder comes 2 Feb 2099, 08:00 (in N years), by e-mail, if at least 5 reviews of 2 labels are due then. One that is paused until 1 Feb 2099, 12:00 may come before it.',
    );
    held.reminders = [stubReminder({ nextTime: timestamp('2020-01-01T08:00:30Z') })];
    expect(await told()).toMatch(
      /^The next reminder was to come 1 Jan 2020, 08:00 \(\d+ years ago\), by e-mail\.$/,
    );
  });

  test('says why e-mail is off in words for the learner, and asks before it goes against them', async () => {
    const { held, hash } = await newUser('Asia/Tokyo');
    held.email = {
      enabled: false,
      offReason: 'EMAIL_OFF_REASON_REFUSED',
      offTime: timestamp('2020-11-02T15:30:00Z'),
    };
    const { page } = await open(hash);
    const email = card(page, 'E-mail');
    await email
      .getByText('Off since Tue, 3 Nov 2020: the mail server refused three messages in a row.')
      .waitFor();
    held.email = {
      enabled: false,
      offReason: 'EMAIL_OFF_REASON_UNSUBSCRIBED',
      offTime: timestamp(new Date().toISOString()),
    };
    await showAgain(page);
    await email.getByText(/: the learner followed the link to unsubscribe in a message\.$/).waitFor();
    await page.getByRole('button', { name: 'Switch e-mail on' }).click();
    await page.getByText('The learner unsubscribed. Switch e-mail on only if they ask for it.').waitFor();
  });

  test('says of each delivery what became of it, 20 a page', async () => {
    const { held, hash } = await newUser('Asia/Tokyo');
    const reminder = stubReminder({ timeOfDay: '17:00', minDue: 10 });
    const daily = stubReminder({ minDue: 1 });
    const changed = stubReminder({ minDue: 10, updateTime: timestamp('2026-11-03T08:00:30.001Z') });
    const labelled = stubReminder({ labels: ['Spanish'] });
    held.reminders.push(reminder, daily, labelled, changed);
    const skipped = (skipReason: NonNullable<DeliveryInput['skipReason']>, more: DeliveryInput = {}) =>
      stubDelivery({ state: 'DELIVERY_STATE_SKIPPED', skipReason, ...more });
    held.deliveries.push(
      stubDelivery(),
      stubDelivery({ attempts: 2, failure: 'The mail server did not answer in time.' }),
      stubDelivery({ state: 'DELIVERY_STATE_SENT' }),
      skipped('SKIP_REASON_NOTHING_DUE'),
      ...[reminder, daily, labelled, changed].map(({ reminderId = '' }) =>
        skipped('SKIP_REASON_NOTHING_DUE', { reminderId }),
      ),
      skipped('SKIP_REASON_ALREADY_REVIEWED'),
      skipped('SKIP_REASON_PAUSED'),
      skipped('SKIP_REASON_LATE'),
      stubDelivery({ state: 'DELIVERY_STATE_FAILED', failure: 'e-mail was switched off meanwhile' }),
      stubDelivery({ isTest: true }),
      ...Array.from({ length: 9 }, () => stubDelivery({ localDate: '2026-10-01' })),
    );
    const { page } = await open(hash);
    const rows = await rowsOf(page, 'Latest deliveries');
    expect(rows.length).toBe(20);
    expect(rows[0]).toEqual(['Tue, 3 Nov 2026', '17:00', 'e-mail', 'Waiting to be sent.']);
    expect(rows[12]).toEqual(['Tue, 3 Nov 2026', 'test', 'e-mail', 'Waiting to be sent.']);
    expect(rows.slice(1, 12).map((row) => row[3])).toEqual([
      'To be tried again. Attempt 2 failed: The mail server did not answer in time.',
      'Sent 3 Nov 2026, 17:00.',
      'Skipped: nothing was due at that time, or fewer reviews than the reminder asked for.',
      'Skipped: fewer reviews were due than the reminder asks for.',
      'Skipped: nothing was due at that time.',
      'Skipped: nothing with its labels was due at that time.',
      'Skipped: nothing was due at that time, or fewer reviews than the reminder asked for.',
      'Skipped: already reviewed that day.',
      'Skipped: the reminder was paused or off, or none of its channels reached the learner.',
      'Skipped: its turn came more than two hours late.',
      'Failed: e-mail was switched off meanwhile.',
    ]);
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: 'Previous page' }).waitFor();
    expect((await rowsOf(page, 'Latest deliveries')).map((row) => row[0])).toEqual([
      'Thu, 1 Oct 2026',
      'Thu, 1 Oct 2026',
    ]);
  });

  test('says the day of a delivery where the learner’s time zone was another one then', async () => {
    const { held, hash } = await newUser('America/New_York');
    // 08:30 in Tokyo.
    held.deliveries.push(
      stubDelivery({ localDate: '2026-11-04', dueTime: timestamp('2026-11-03T23:30:30Z') }),
      stubDelivery({ localDate: '2026-11-03', dueTime: timestamp('2026-11-03T13:30:30Z') }),
    );
    const { page } = await open(hash);
    expect((await rowsOf(page, 'Latest deliveries')).map((row) => row.slice(0, 2))).toEqual([
      ['Wed, 4 Nov 2026', '3 Nov 2026, 18:30'],
      ['Tue, 3 Nov 2026', '08:30'],
    ]);
  });

  test('offers a viewer no action', async () => {
    const { held, hash } = await newUser();
    held.reminders.push(stubReminder());
    held.subscriptions.push({
      subscriptionId: 's',
      endpointHost: 'push.example.net',
      createTime: timestamp(MADE),
    });
    held.hasFeed = true;
    const { page } = await open(hash, { token: VIEWER });
    await page.getByText('push.example.net').waitFor();
    expect(await page.getByRole('button').allInnerTexts()).toEqual(['Log out', expect.stringMatching(/^…/)]);
    expect(await rowsOf(page, 'Push subscriptions')).toEqual([['push.example.net', '3 Nov 2026, 08:00']]);
    held.reminders = [];
    await showAgain(page);
    await page.getByText('This learner has no reminder.').waitFor();
    expect(await page.locator('#next-reminder').innerText()).toBe('This learner has no reminder.');
  });

  test('without VAPID keys push reaches nobody, and no test of it is offered', async () => {
    const { held, hash } = await newUser();
    held.reminders.push(stubReminder({ channels: ['CHANNEL_PUSH'] }));
    held.subscriptions.push({
      subscriptionId: 's',
      endpointHost: 'push.example.net',
      createTime: timestamp(MADE),
    });
    dashboard.reminders.setPushSetUp(false);
    const { page } = await open(hash);
    await card(page, 'Push').getByText('Push is not set up on this server.').waitFor();
    expect(await next(page)).toBe('No reminder comes: push is not set up on this server.');
    expect(await page.getByRole('button', { name: 'Send a test by push' }).count()).toBe(0);
    dashboard.reminders.setPushSetUp(true);
    await showAgain(page);
    await page.getByRole('button', { name: 'Send a test by push' }).waitFor();
  });

  test('a test that is answered once another page is open leaves that page as it is', async () => {
    const { userId } = await dashboard.newLearner(['Ohm']);
    const { page } = await open(`#/users/${userId}/reminders`);
    const sent = await holdBack(page, 'mutation SendTest');
    await page.getByRole('button', { name: 'Send a test by e-mail' }).click();
    await sent.asked;
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'Materials' }).click();
    const selected = page.getByRole('checkbox', { name: 'Select Ohm' });
    await selected.check();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.postData() ?? ''));
    sent.letGo();
    await sent.isTaken();
    expect(asked).toEqual(['']);
    expect(await selected.isChecked()).toBe(true);
  });

  test('says that reminders are off or away, and the other tabs work', async () => {
    const { hash } = await newUser();
    const without = await startTestGateway(dashboard.system);
    const { page } = await dashboard.openAt(hash, { origin: without.origin });
    const alert = page.getByRole('alert');
    await alert
      .getByText('Reminders are switched off here. Start the gateway with REMINDERS=on to use them.')
      .waitFor();
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByText('This learner has no API key.').or(page.getByText('valid')).waitFor();
    await page.close();
    await without.stop();

    dashboard.reminders.setAway(true);
    const second = await dashboard.openAt(hash);
    await second.page.getByRole('alert').getByText('The reminders service does not answer.').waitFor();
    await second.page.getByRole('link', { name: 'Overview' }).click();
    await second.page.getByText('This learner has no material yet.').waitFor();
    await second.page.getByRole('link', { name: 'Reminders' }).click();
    const again = second.page.getByRole('button', { name: 'Try again' });
    await again.waitFor();
    dashboard.reminders.setAway(false);
    await again.click();
    await second.page.getByText('This learner has no reminder.').waitFor();
  });

  let dashboard: Given<'dashboard'>['dashboard'];

  function takeServices({ dashboard: shared }: Given<'dashboard'>): void {
    dashboard = shared;
  }

  const newUser = async (timeZone = 'UTC') => {
    const { userId } = await dashboard.system.createUser([], timeZone);
    return { userId, held: dashboard.reminders.of(userId), hash: `#/users/${userId}/reminders` };
  };
  const open = async (hash: string, options: Parameters<typeof dashboard.openAt>[1] = {}) => {
    const opened = await dashboard.openAt(hash, options);
    await opened.page.getByRole('heading', { name: 'Latest deliveries' }).waitFor();
    return opened;
  };
  /** What the services tell by now, without loading the document anew. */
  const showAgain = (page: Page) =>
    page.evaluate(`new Promise((resolve) => {
        const main = document.getElementById('main');
        const observer = new MutationObserver(() => main.hasAttribute('aria-busy') || resolve(observer.disconnect()));
        observer.observe(main, { attributeFilter: ['aria-busy'] });
        dispatchEvent(new Event('hashchange'));
      })`);
  const card = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
  const next = (page: Page) => page.locator('#next-reminder .strong').innerText();
});
