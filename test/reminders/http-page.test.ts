// The unsubscribe page as a person sees it: its policy lets its style and its one button work, and nothing else.
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { startHttp } from '../../services/platform/http/server.ts';
import { buildHttpApp } from '../../services/reminders/http.ts';
import { hasBrowser, screenshot, startBrowser, watch } from '../support/browser.ts';

describe.runIf(hasBrowser('the unsubscribe page'))('the unsubscribe page in Chromium', () => {
  test('switches e-mail off by its button, on again by the next, asks no other host, and breaks no policy', async () => {
    const switchedOff: string[] = [];
    const app = await buildHttpApp({
      logger: pino({ level: 'silent' }),
      findCalendar: async () => undefined,
      isUnsubscribeToken: async (token) => token === 'token-of-ada',
      switchEmailOff: async (token) => switchedOff.push(token) > 0,
      switchEmailOn: async (token) => token === switchedOff.pop(),
    });
    const end = await startHttp(async () => app, { host: '127.0.0.1', port: 0 });
    const browser = await startBrowser();
    try {
      const page = await browser.newPage({ viewport: { width: 800, height: 500 } });
      // Browsers look for an icon by themselves.
      const { hosts, complaints } = watch(page, { expected: '404' });
      await page.goto(`http://127.0.0.1:${end.port}/unsubscribe/token-of-ada`);
      expect(await page.evaluate("getComputedStyle(document.querySelector('main')).fontSize")).toBe('18px');
      await screenshot(page, 'unsubscribe');
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await page.evaluate('getComputedStyle(document.documentElement).color')).toBe(
        'rgb(255, 255, 255)',
      );
      await page.emulateMedia({ colorScheme: 'light' });
      expect(switchedOff).toEqual([]);
      await page.getByRole('button', { name: 'Stop reminders by e-mail' }).click();
      await page.getByRole('heading', { name: 'Reminders by e-mail are off' }).waitFor();
      expect(switchedOff).toEqual(['token-of-ada']);
      await screenshot(page, 'unsubscribed');
      await page.getByRole('button', { name: 'Switch them on again' }).click();
      await page.getByRole('heading', { name: 'Reminders by e-mail are on' }).waitFor();
      expect(switchedOff).toEqual([]);
      expect([...hosts]).toEqual([`127.0.0.1:${end.port}`]);
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
      await end.close();
    }
  });
});
