// Signing in to the dashboard at an OpenID provider, in a real browser.
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, expect, onTestFinished } from 'vitest';
import { startGateway } from '../../gateway/app.ts';
import { readGatewayConfig } from '../../gateway/config.ts';
import type { HttpServer } from '../../services/platform/http/server.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { readEnvironment } from '../../services/platform/process/config.ts';
import { type Given, test } from '../fixtures.ts';
import { hasBrowser, screenshot, watch } from '../support/browser.ts';
import { type OpenIdProvider, startOpenIdProvider } from '../support/openid-provider.ts';

const inBrowser = test.skipIf(!hasBrowser('the sign-in'));

test.beforeAll(startAll);
afterAll(stopAll);

inBrowser('a person signs in, comes back to the same page, and is in on a second tab as well', async () => {
  const { userId: id } = await system.createUser();
  const page = await newPage();
  const address = `http://127.0.0.1:${gateway.port}/dashboard#/users/${id}`;
  await page.goto(address);
  const signIn = page.getByRole('button', { name: `Sign in at ${new URL(provider.issuer).host}` });
  await signIn.waitFor();
  await screenshot(page, 'sign-in');
  await signInAsOlga(page);
  expect(page.url()).toBe(`http://127.0.0.1:${gateway.port}/dashboard/#/users/${id}`);
  expect(await page.evaluate(() => ({ ...localStorage, ...sessionStorage }))).toEqual({});

  const second = await newPage();
  const { complaints } = watch(second);
  await second.goto(address);
  await second.getByText('oidc:olga, operator').waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('a person who opens GraphiQL from their only tab is in there, and stays in here', async () => {
  const page = await newPage();
  await page.goto(`http://127.0.0.1:${gateway.port}/dashboard`);
  await signInAsOlga(page);
  const [graphiql] = await Promise.all([
    context.waitForEvent('page', { timeout: 5000 }),
    page.getByRole('link', { name: 'GraphiQL' }).click(),
  ]);
  onTestFinished(() => graphiql.close());
  await graphiql.getByText('The token is in use').waitFor();
  await page.getByText('oidc:olga, operator').waitFor();
});

inBrowser('a dialog is back once its person has signed in again, in a tab that closes itself', async () => {
  const { userId: id } = await system.createUser();
  const page = await newPage();
  await page.goto(`http://127.0.0.1:${gateway.port}/dashboard#/users/${id}/keys`);
  await signInAsOlga(page);
  await page.getByRole('button', { name: 'Create a key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('phone app');
  await page.route('**/graphql', (route) => route.fulfill({ status: 401, json: {} }), { times: 1 });
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByText('The login is no longer valid').waitFor();
  const [tab] = await Promise.all([
    page.waitForEvent('popup'),
    page.getByRole('button', { name: /^Sign in at .* in a new tab$/ }).click(),
  ]);
  // The provider still knows who it is.
  const goOn = tab.getByRole('button', { name: 'Continue' });
  await goOn.waitFor();
  expect(await tab.evaluate('opener')).toBeNull();
  await Promise.all([tab.waitForEvent('close'), goOn.click()]);
  await dialog.waitFor();
  expect(await dialog.getByLabel('Name').inputValue()).toBe('phone app');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByLabel('Key “phone app”').waitFor();
});

inBrowser('the login says so where the browser opens no tab for the sign-in', async () => {
  const { userId: id } = await system.createUser();
  const page = await newPage();
  await page.addInitScript('window.open = () => null');
  await page.goto(`http://127.0.0.1:${gateway.port}/dashboard#/users/${id}/keys`);
  await signInAsOlga(page);
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.route('**/graphql', (route) => route.fulfill({ status: 401, json: {} }), { times: 1 });
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('button', { name: /^Sign in at .* in a new tab$/ }).click();
  await page.getByText('The browser has blocked the new tab.').waitFor();
});

inBrowser('a person who signs in beside a tab of somebody else is shown as who they are', async () => {
  const comeBack = async (page: Page, login: string) => {
    await page.goto(`http://127.0.0.1:${gateway.port}/dashboard`);
    const { code, codeVerifier } = await provider.browse().signIn(login);
    const begun = JSON.stringify({ codeVerifier, state: 's', hash: '' });
    await page.evaluate(`sessionStorage.setItem('sign-in', '${begun}')`);
    await page.goto(`http://127.0.0.1:${gateway.port}/dashboard/?code=${code}&state=s`);
  };
  await comeBack(await newPage(), 'olga');
  const page = await newPage();
  const held = Promise.withResolvers<void>();
  await page.route('**/oidc/token', (route) => held.promise.then(() => route.continue()));
  await comeBack(page, 'vic');
  await page.getByText('oidc:olga, operator').waitFor();
  held.resolve();
  await page.getByText('vic@example.com, viewer').waitFor();
});

inBrowser(
  'an answer of the provider that this tab has not asked for, or for another state, is not redeemed',
  async () => {
    const page = await newPage();
    const redeemed: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/oidc/token')) redeemed.push(request.url());
    });
    const { code } = await provider.browse().signIn('olga');
    const forged = `http://127.0.0.1:${gateway.port}/dashboard/?code=${code}&state=forged`;
    const refused = page.getByText('This sign-in was not begun in this tab. Begin again.');
    await page.goto(forged);
    await refused.waitFor();
    expect(page.url()).toBe(`http://127.0.0.1:${gateway.port}/dashboard/`);
    await page.evaluate(`sessionStorage.setItem('sign-in', '{"codeVerifier":"v","state":"s","hash":""}')`);
    await page.goto(forged);
    await refused.waitFor();
    expect(redeemed).toEqual([]);
  },
);

inBrowser(
  'a person whom the provider has not signed in is told so, and comes back to the same page',
  async () => {
    const page = await newPage();
    await page.goto(`http://127.0.0.1:${gateway.port}/dashboard`);
    await page.evaluate(
      `sessionStorage.setItem('sign-in', '{"codeVerifier":"v","state":"s","hash":"#/users"}')`,
    );
    await page.goto(`http://127.0.0.1:${gateway.port}/dashboard/?error=access_denied&state=s`);
    await page.getByText('The provider has not signed you in.').waitFor();
    expect(page.url()).toBe(`http://127.0.0.1:${gateway.port}/dashboard/#/users`);
  },
);

inBrowser('the login says so where the provider does not answer', async () => {
  const page = await newPage();
  await page.route('**/oidc/settings', (route) => route.fulfill({ status: 503, json: {} }));
  await page.goto(`http://127.0.0.1:${gateway.port}/dashboard`);
  await page.getByText('The OpenID provider does not answer. Reload the page to try again.').waitFor();
  expect(await page.getByLabel('Gateway token').isVisible()).toBe(true);
});

inBrowser('the login says so where the page came over plain http', async () => {
  const page = await newPage();
  await page.addInitScript(`Object.defineProperty(crypto, 'subtle', { value: undefined })`);
  await page.goto(`http://127.0.0.1:${gateway.port}/dashboard`);
  await page.getByRole('button', { name: /^Sign in at/ }).click();
  await page.getByText('Open it over https.').waitFor();
});

inBrowser('the login says how long it holds, and why nobody is in, above all fields', async () => {
  const page = await newPage();
  await page.goto(`http://127.0.0.1:${gateway.port}/dashboard`);
  const { host } = new URL(provider.issuer);
  await page
    .getByText(`until the last tab is closed or reloaded. Logging out leaves you signed in at ${host}.`)
    .waitFor();
  await page.evaluate(`sessionStorage.setItem('sign-in', '{"codeVerifier":"v","state":"s","hash":""}')`);
  provider.setDown(true);
  await page.goto(`http://127.0.0.1:${gateway.port}/dashboard/?code=c&state=s`);
  const problem = page.getByText('The OpenID provider does not answer. Begin again in a moment.');
  await problem.waitFor();
  provider.setDown(false);
  const top = async (of: typeof problem) => (await of.boundingBox())?.y ?? 0;
  expect(await top(problem)).toBeLessThan(
    await top(page.getByRole('button', { name: `Sign in at ${host}` })),
  );
});

inBrowser('a sign-in that the gateway does not answer can be begun again', async () => {
  const page = await newPage();
  await page.route('**/oidc/token', (route) => route.fulfill({ status: 502, body: '<h1>Bad gateway</h1>' }));
  await page.goto(`http://127.0.0.1:${gateway.port}/dashboard`);
  await page.evaluate(`sessionStorage.setItem('sign-in', '{"codeVerifier":"v","state":"s","hash":""}')`);
  await page.goto(`http://127.0.0.1:${gateway.port}/dashboard/?code=c&state=s`);
  await page.getByText('The gateway has not answered. Begin again.').waitFor();
  await page.getByRole('button', { name: /^Sign in at/ }).waitFor();
});

let system: Given<'system'>['system'];
let provider: OpenIdProvider;
let gateway: HttpServer;
let context: BrowserContext;

async function startAll({ dashboard }: Given<'dashboard'>): Promise<void> {
  system = dashboard.system;
  context = await dashboard.browser.newContext();
  provider = await startOpenIdProvider('srs', () => `http://127.0.0.1:${gateway.port}`);
  const environment = {
    OIDC_ISSUER: provider.issuer,
    OIDC_AUDIENCE: 'srs',
    GRAPHQL_PORT: '0',
    REMINDERS: 'off',
    SCHEDULING_URL: system.schedulingTarget,
    ACCOUNTS_URL: system.accountsTarget,
  };
  gateway = await startGateway({
    config: readEnvironment(environment, readGatewayConfig),
    logger: createLogger('test', 'silent'),
    audit: () => {},
  });
  provider.configure();
}

/** From the login, as somebody whom the provider has not seen yet. */
async function signInAsOlga(page: Page): Promise<void> {
  await context.clearCookies();
  await page.getByRole('button', { name: /^Sign in at/ }).click();
  await page.getByPlaceholder('Enter any login').fill('olga');
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('oidc:olga, operator').waitFor();
}

/** Until the end of the test. */
async function newPage() {
  const page = await context.newPage();
  onTestFinished(() => page.close());
  return page;
}

async function stopAll(): Promise<void> {
  await context.close();
  await gateway.close();
  await provider.stop();
}
