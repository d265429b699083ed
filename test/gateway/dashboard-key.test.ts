// The page of a key: its requests of the last 7 days.
import { describe, expect } from 'vitest';
import { toTimestamp } from '../../services/platform/instants.ts';
import { test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';
import { rowsOf } from '../support/dashboard.ts';

describe.runIf(hasBrowser('a key'))('the page of a key', () => {
  test('shows its requests by day, by route and status, and the latest refused ones', async ({
    dashboard,
  }) => {
    const { userId, apiKeyId } = await dashboard.newLearner();
    const { apiKeys } = dashboard.gateway.clients;
    const { page, complaints } = await dashboard.openAt(`#/users/${userId}/keys`);
    await page.getByRole('table', { name: 'API keys' }).getByRole('link', { name: 'without a name' }).click();
    await page.getByText('No request came with this key in the last 7 days.').waitFor();
    const date = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
    const count = { apiKeyId, route: MATERIALS, status: 201, date: date(0), requests: 5 };
    const refused = { apiKeyId, route: MATERIALS, status: 400, field: 'title', requestId: 'my-request-17' };
    await apiKeys.reportKeyRequests(
      {
        counts: [
          count,
          { ...count, date: date(3), requests: 2 },
          { ...count, status: 400, requests: 9 },
          { ...count, route: 'GET /v1/me', status: 0, requests: 1 },
        ],
        refused: [{ ...refused, requestTime: toTimestamp(new Date()) }],
      },
      CALL,
    );
    await page.reload();
    const any = expect.any(String);
    expect(await rowsOf(page, 'By route and status')).toEqual([
      [MATERIALS, '400', '9', any],
      [MATERIALS, '201', '7', any],
      ['GET /v1/me', 'client disconnected', '1', any],
    ]);
    expect(await rowsOf(page, 'Latest refused requests')).toEqual([
      [any, MATERIALS, '400', 'title', '…quest-17'],
    ]);
    await page.getByRole('button', { name: 'Table: Requests a day' }).click();
    const days = await rowsOf(page, 'Requests a day');
    expect(days.map(([, requests, of]) => [requests, of])).toEqual([
      ['0', '0'],
      ['0', '0'],
      ['0', '0'],
      ['2', '0'],
      ['0', '0'],
      ['0', '0'],
      ['15', '9'],
    ]);
    expect(complaints).toEqual([]);
    await page.getByRole('searchbox', { name: 'Search everything' }).fill('my-request-17');
    const hit = page.getByRole('link', { name: `${MATERIALS} with key` });
    expect(await hit.innerText()).toMatch(/refused .*: 400, title$/);
    await hit.click();
    await page.getByRole('heading', { name: 'Key “without a name”' }).waitFor();
    await page.evaluate(`location.hash = '#/users/${userId}/keys/${userId}'`);
    await page.getByText('This key does not exist.').waitFor();
  });
});

const CALL = { requestId: 'test' };
const MATERIALS = 'POST /v1/materials';
