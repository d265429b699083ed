// Debian's Chromium, where there is one: tests of pages are left out without it, but not in CI.
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { leaveOut } from './left-out.ts';

/** The form without a window takes a third less of the processor. */
const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path));
const screenshots = join(dirname(dirname(import.meta.dirname)), 'screenshots');

/** Whether tests of `what` in a browser can run; says so where they cannot. @throws Error where that is CI */
export function hasBrowser(what: string): boolean {
  return (
    CHROMIUM !== undefined ||
    leaveOut(`${what} in a browser (Debian: apt-get install chromium-headless-shell)`)
  );
}

export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    ...(CHROMIUM && { executablePath: CHROMIUM }),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      // A page of the same site and context costs no process of its own.
      '--process-per-site',
    ],
  });
}

/** How many in this process have borrowed the browser. */
let borrowers = 0;
let lent: Promise<Browser> | undefined;

/** One browser for all who have it at the same time. */
export async function borrowBrowser() {
  borrowers += 1;
  lent ??= startBrowser();
  const browser = await lent;
  return {
    browser,
    async giveBack() {
      borrowers -= 1;
      if (borrowers > 0) return;
      lent = undefined;
      await browser.close();
    },
  };
}

/** Keeps what a page asks of hosts, and what its console complains of, but for complaints that hold `expected`. */
export function watch(page: Page, { expected }: { expected?: string } = {}) {
  const hosts = new Set<string>();
  const complaints: string[] = [];
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol !== 'data:') hosts.add(host);
  });
  page.on('console', (message) => {
    const isExpected = expected !== undefined && message.text().includes(expected);
    if (message.type() === 'error' && !isExpected) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return { hosts, complaints };
}

/** For a person to look at, in a folder that git ignores; none in CI, where nobody does. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (process.env.CI) return;
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
}
