import { describe, expect } from 'vitest';
import { test } from '../fixtures.ts';
import { hasBrowser, screenshot } from '../support/browser.ts';
import { logIn } from '../support/dashboard.ts';
import { OPERATOR } from '../support/gateway.ts';

describe.runIf(hasBrowser('GraphiQL'))('GraphiQL in Chromium', () => {
  test('takes a token, runs the examples that read, offers one that writes and a way back, asks no other host, and breaks no policy', async ({
    dashboard: { open, gateway, system },
  }) => {
    const { user } = await system.accounts.users.createUser(
      { email: 'demo@example.com', firstName: 'Demo' },
      { requestId: 'test' },
    );
    const userId = user?.userId ?? '';
    await gateway.clients.materials.createMaterial(
      { userId, title: 'Seen in GraphiQL' },
      { requestId: 'test' },
    );
    const { page, hosts, complaints } = await open();

    await page.goto(gateway.origin);
    await page.getByText('Queries need a token').waitFor();
    await page.getByLabel('Gateway token').fill('wrong'.repeat(10));
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByText('This token is not valid, or no longer valid').waitFor();
    await page.getByLabel('Gateway token').fill(OPERATOR);
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByText('The token is in use').waitFor();

    const run = async (tab: string, expected: string) => {
      await page.getByRole('tab', { name: tab }).click();
      await page.getByRole('button', { name: /execute query/i }).click();
      // In quotation marks: not in the query, but in its answer.
      await page.locator('#graphiql').getByText(`"${expected}"`).first().waitFor();
    };
    await run('LearnerAtAGlance', 'Seen in GraphiQL').finally(() => screenshot(page, 'graphiql'));
    await run('WhoHasWhatDue', 'Seen in GraphiQL');
    await run('HistoriesAndPreviews', 'repetitions');
    await page.getByRole('tab', { name: 'SnoozeUntilTomorrow' }).waitFor();
    expect(await page.getByRole('link', { name: 'Dashboard' }).getAttribute('href')).toBe('/dashboard');
    expect(await page.locator('#graphiql').innerText()).not.toContain('"errors"');
    expect([...hosts]).toEqual([new URL(gateway.origin).host]);
    expect(complaints).toEqual([]);
    const kept = await page.evaluate(
      "[sessionStorage.getItem('gateway-token'), document.cookie, JSON.stringify(localStorage)]",
    );
    expect(kept).toEqual([OPERATOR, '', expect.not.stringContaining(OPERATOR)]);
  });

  test('says so when another tab has logged out, and when one has logged in again', async ({
    dashboard: { open, gateway },
  }) => {
    const { page } = await open();
    await page.goto(gateway.origin);
    await page.getByLabel('Gateway token').fill(OPERATOR);
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByText('The token is in use').waitFor();
    const other = await page.context().newPage();
    await other.goto(`${gateway.origin}/dashboard`);
    await other.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('Queries need a token. Log in to the dashboard').waitFor();
    const schema = page.waitForResponse((response) => response.url().endsWith('/graphql'));
    await logIn(other, OPERATOR);
    await page.getByText('The token is in use').waitFor();
    expect((await schema).status()).toBe(200);
  });
});

test('GraphiQL’s page forbids everything from elsewhere', async ({ gateway }) => {
  const response = await fetch(gateway.origin);
  expect(response.headers.get('content-security-policy')).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; font-src 'self' data:",
  );
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(await response.text()).not.toMatch(/https?:\/\//);
});
