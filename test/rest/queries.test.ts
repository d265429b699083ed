// How a query string is taken apart.
import { expect, onTestFinished, test } from 'vitest';
import { parseQuery } from '../../services/rest/schemas.ts';
import { startFacade } from '../support/facade.ts';
import { newStubKey, startStubAccounts, startStubScheduling } from '../support/stub-services.ts';

test('a value that is not percent-encoded UTF-8 is null, and another is what it stands for', () => {
  expect(parseQuery('q=%ff&limit=%C3%A9+x')).toEqual({ q: null, limit: 'é x' });
  expect(parseQuery('q=%4')).toEqual({ q: null });
  expect(parseQuery('q=C%2B%2B+%2b')).toEqual({ q: 'C++ +' });
});

test('parameters that no route has are left out', () => {
  expect(parseQuery('a=b&q=c&__proto__=d&limited=7&aq=e&limit=5')).toEqual({ q: 'c', limit: 5 });
});

test('a text of over 1,024 bytes is refused without a call to scheduling', async () => {
  const calls: string[] = [];
  const scheduling = await startStubScheduling(async (rpc) => void calls.push(rpc));
  const accounts = await startStubAccounts();
  const facade = await startFacade({ accountsTarget: accounts.target, schedulingTarget: scheduling.target });
  onTestFinished(async () => {
    await facade.close();
    await accounts.stop();
    await scheduling.stop();
  });
  const key = newStubKey();
  accounts.keys.set(key, { userId: 'u', apiKeyId: 'k' });
  const find = async (path: string, q: string) => {
    const headers = { authorization: `Bearer ${key}` };
    return fetch(`${facade.origin}/v1/${path}?q=${encodeURIComponent(q)}`, { headers });
  };
  for (const path of ['search', 'materials']) {
    const refused = await find(path, `${'é'.repeat(512)}x`);
    const message = 'q must have at most 1024 bytes in UTF-8.';
    expect([refused.status, await refused.json()], path).toEqual([
      400,
      { error: { code: 'invalid_request', message, details: { field: 'q' } } },
    ]);
    expect(calls, path).toEqual([]);
    await find(path, 'é'.repeat(512));
    expect(calls.splice(0).length, path).toBeGreaterThan(0);
  }
});
