// The look and the size of the dashboard: most pages in light, dark and on a phone, and the bytes on the network.
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { hasBrowser, screenshot } from '../support/browser.ts';
import { OPERATOR } from '../support/gateway.ts';
import { MADE, stubDelivery, stubReminder, timestamp } from '../support/stub-reminders.ts';

// Many looks in one test, on a machine that may have much else to do.
describe.runIf(hasBrowser('the looks of the dashboard'))(
  'each page of the dashboard',
  { timeout: 120_000 },
  () => {
    test.beforeAll(prepare);

    test('is open to everybody in light and in dark, breaks no policy, and fits a phone without scrolling sideways', async () => {
      await dashboard.system.createKey(dashboard.seeded.userId, ['profile:read']);
      const { page, hosts, complaints } = await dashboard.openAt('#/users');
      await page.evaluate(axe);
      const broken: Record<string, string[]> = {};
      const backgrounds = new Set();
      await page.setViewportSize(PHONE);
      await walk(page, async (name) => {
        const width = () => page.evaluate('document.documentElement.scrollWidth');
        await expect.poll(width, { message: name }).toBe(PHONE.width);
        if (name === 'overview') {
          // Each share is labelled with its n, and the year begins with its latest weeks.
          expect(await page.evaluate(LABELS)).toBe(5);
          await expect.poll(() => page.evaluate(WEEKS_AFTER)).toBeLessThan(1);
        }
        await screenshot(page, `dashboard-${name}-phone`);
        await page.setViewportSize({ width: 1280, height: 900 });
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          // Nothing but colours is another in the dark.
          const rules = await brokenRules(page, colorScheme === 'dark' ? ['color-contrast'] : []);
          if (rules.length > 0) broken[`${name}, ${colorScheme}`] = rules;
          await screenshot(page, `dashboard-${name}-${colorScheme}`);
          backgrounds.add(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
        }
        await page.emulateMedia({ colorScheme: 'light' });
        await page.setViewportSize(PHONE);
      });
      expect(broken).toEqual({});
      expect([...hosts]).toEqual([new URL(dashboard.gateway.origin).host]);
      expect(complaints).toEqual([]);
      expect([...backgrounds]).toEqual(['rgb(245, 246, 248)', 'rgb(17, 20, 26)']);
    });

    test('can be worked by keyboard alone, and tells a screen reader where it is', async () => {
      const { page } = await dashboard.openAt(`#/users/${dashboard.seeded.userId}`);
      const focused = () =>
        page.evaluate(
          "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent",
        );
      await page.getByRole('region', { name: 'Forecast', exact: true }).waitFor();
      expect(await page.title()).toBe(`${dashboard.seeded.email} – Learning dashboard`);
      expect(await focused()).toBe(dashboard.seeded.email);
      await page.keyboard.press('Tab');
      expect(await focused()).toBe(`Copy ID …${dashboard.seeded.userId.slice(-8)}`);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      expect(await focused()).toBe('Materials');
      await page.keyboard.press('Enter');
      await page.getByLabel('Type').waitFor();
      const snooze = page.getByRole('button', { name: /^Snooze (?!selected)/ }).first();
      await snooze.focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog', { name: 'Snooze' }).waitFor();
      await page.keyboard.press('Escape');
      expect(await focused()).toMatch(/^Snooze /);
    });

    test('comes in under 300 KB, all that the first view of a learner needs', async () => {
      const { page } = await dashboard.open({});
      const session = await page.context().newCDPSession(page);
      await session.send('Network.enable');
      let bytes = 0;
      session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
      await page.goto(`${dashboard.gateway.origin}/dashboard#/users/${dashboard.seeded.userId}`);
      await page.getByLabel('Gateway token').fill(OPERATOR);
      await page.keyboard.press('Enter');
      await page.getByText('Hardest materials').first().waitFor();
      await page.getByText('Lowest retention first').waitFor();
      expect(bytes).toBeGreaterThan(50_000);
      expect(bytes).toBeLessThan(300_000);
    });

    let dashboard: Given<'dashboard'>['dashboard'];

    function prepare({ dashboard: shared }: Given<'dashboard'>): void {
      dashboard = shared;
      const held = dashboard.reminders.of(dashboard.seeded.userId);
      const channels = ['CHANNEL_EMAIL', 'CHANNEL_PUSH'] as const;
      held.reminders.push(
        stubReminder({ weekdays: [1, 3, 6, 7], channels: [...channels] }),
        stubReminder({ timeOfDay: '18:30', pausedUntilTime: timestamp('2099-02-01T00:00:00Z') }),
        stubReminder({ labels: ['Science', 'W'.repeat(60)] }),
      );
      held.email = { enabled: false, offReason: 'EMAIL_OFF_REASON_REFUSED', offTime: timestamp(MADE) };
      held.hasFeed = true;
      held.subscriptions.push({
        subscriptionId: 's',
        endpointHost: 'updates.push.services.example.net',
        createTime: timestamp(MADE),
      });
      held.deliveries.push(
        ...Array.from({ length: 21 }, () =>
          stubDelivery({
            state: 'DELIVERY_STATE_FAILED',
            failure: 'given up after 9 attempts: The mail server could not be reached (ECONNREFUSED).',
          }),
        ),
      );
    }

    /** Goes through all pages and dialogs, and calls `look` at each. */
    async function walk(page: Page, look: (name: string) => Promise<void>): Promise<void> {
      const { userId } = dashboard.seeded;
      const goTo = (path: string) => page.evaluate(`location.hash = '#/${path}'`);
      await goTo('');
      await page.getByRole('region', { name: 'Needs attention' }).waitFor();
      await look('home');
      await goTo('refused-keys');
      await page.getByRole('heading', { name: 'Ended keys still in use' }).waitFor();
      await look('refused-keys');
      await goTo('users');
      await page.getByText('All, newest first').waitFor();
      await look('learners');
      await goTo(`users/${userId}`);
      await page.getByRole('region', { name: 'Forecast', exact: true }).waitFor();
      await look('overview');
      // The year's is like the others, only 365 rows long.
      const tables = page.getByRole('button', { name: /^Show as table: (?!Year)/ });
      for (const button of await tables.all()) await button.click();
      await look('overview-tables');
      await goTo(`users/${userId}/days/${new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)}`);
      await page.getByRole('link', { name: 'Day before' }).waitFor();
      await look('day');
      await goTo(`users/${userId}/materials`);
      await page.getByLabel('Type').waitFor();
      await look('materials');
      await page
        .getByRole('button', { name: /^Snooze (?!selected)/ })
        .first()
        .click();
      await look('snooze');
      await page.keyboard.press('Escape');
      await page.locator('tbody a:not(.label)').last().click();
      await page.getByText('If graded now').waitFor();
      await look('material');
      await page.getByRole('button', { name: 'Edit labels' }).click();
      await look('edit-labels');
      await page.keyboard.press('Escape');
      await goTo(`users/${userId}/labels`);
      await page.getByText('Each count includes the labels below').waitFor();
      await look('labels');
      await goTo(`users/${userId}/keys`);
      await page.getByRole('button', { name: 'Create a key' }).click();
      await look('create-key');
      await page.keyboard.press('Escape');
      await look('keys');
      await goTo(`users/${userId}/reminders`);
      await page.getByRole('button', { name: 'Add a reminder' }).click();
      await look('add-reminder');
      await page.keyboard.press('Escape');
      await look('reminders');
      await goTo(`users/${userId}/timeline`);
      await page.getByRole('region', { name: 'Timeline: table' }).waitFor();
      await look('timeline');
      await goTo(`users/${userId}/profile`);
      await page.getByRole('button', { name: 'Delete …' }).click();
      await look('delete-learner');
      await page.keyboard.press('Escape');
      await look('profile');
      await page.getByRole('button', { name: 'Log out' }).click();
      await page.getByLabel('Gateway token').waitFor();
      await look('login');
    }
  },
);

/** Bytes on the network, compressed. */
function get(url: string, headers: Record<string, string>) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      request(url, { headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
          }),
        );
      })
        .on('error', reject)
        .end();
    },
  );
}

test('the dashboard’s files are compressed, kept by the browser, and bound by a policy', async ({
  gateway,
}) => {
  const plain = await get(`${gateway.origin}/dashboard`, {});
  const html = plain.body.toString();
  expect(plain.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    'cache-control': 'no-cache',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    vary: 'accept-encoding',
  });
  expect(plain.headers).not.toHaveProperty('content-encoding');
  expect(html).not.toMatch(/https?:\/\/|style=|<script>|\son\w+=/);

  const brotli = await get(`${gateway.origin}/dashboard/`, { 'accept-encoding': 'gzip, deflate, br' });
  expect([brotli.headers['content-encoding'], brotli.headers.vary]).toEqual(['br', 'accept-encoding']);
  expect(brotliDecompressSync(brotli.body).toString()).toBe(html);
  const gzip = await get(`${gateway.origin}/dashboard`, { 'accept-encoding': 'gzip, br;q=0' });
  expect(gzip.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(gzip.body).toString()).toBe(html);

  const etag = String(brotli.headers.etag);
  const again = await get(`${gateway.origin}/dashboard`, {
    'accept-encoding': 'br',
    'if-none-match': etag,
  });
  expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, etag]);

  const paths = [...html.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(([, path = '']) => path);
  expect(paths.map((path) => path.split('/').at(-1))).toEqual(
    expect.arrayContaining(['base.css', 'main.js', 'chart.js']),
  );
  for (const path of paths) {
    const file = await get(`${gateway.origin}${path}`, { 'accept-encoding': 'br' });
    expect([path, file.status, file.headers['cache-control']]).toEqual([
      path,
      200,
      'public, max-age=31536000, immutable',
    ]);
    expect(file.headers['content-type']).toMatch(
      path.endsWith('.css')
        ? /^text\/css; charset=utf-8$/i
        : /^(text|application)\/javascript; charset=utf-8$/i,
    );
  }
});

/** As wide as a window of 1,280 px at a zoom of 400 %, too (WCAG 2.2, 1.4.10). */
const PHONE = { width: 320, height: 740 };
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** How many bars of the retention by interval, each with its n, have a label. */
const LABELS = `Chart.getChart(document.querySelector('[aria-label="Retention by interval"] canvas')).scales.x.ticks.length`;

/** How many pixels of the year's heat map are right of what is in sight. */
const WEEKS_AFTER = `(({ scrollWidth, clientWidth, scrollLeft }) => scrollWidth - clientWidth - scrollLeft)(document.querySelector('.calendar'))`;

/** Rules of accessibility that a page breaks, with where; `rules` empty: all. */
async function brokenRules(page: Page, rules: readonly string[]): Promise<string[]> {
  const only = rules.length > 0 ? { runOnly: rules } : {};
  const options = JSON.stringify({ resultTypes: ['violations'], ...only });
  const { violations } = (await page.evaluate(`axe.run(${options})`)) as { violations: Violation[] };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}

type Violation = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] };
