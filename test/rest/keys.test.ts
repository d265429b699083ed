import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeClients, createClients } from '../../gateway/clients.ts';
import { createApi } from '../support/api.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

beforeAll(startAll);
afterAll(() => here.stop());

describe('a key', () => {
  test('is refused by every facade within a moment of its revocation', async () => {
    const { key, apiKeyId } = await here.createUser();
    expect(await statuses(key)).toEqual([200, 200, 200]);
    await here.accounts.apiKeys.revokeApiKey({ apiKeyId }, CALL);
    await expect.poll(() => statuses(key), { interval: 10 }).toEqual([401, 401, 401]);
  });

  test('shows its user’s new name at once, and nothing after the user is deleted', async () => {
    const { key, userId } = await here.createUser();
    expect(await statuses(key)).toEqual([200, 200, 200]);
    await here.accounts.users.updateUser({ userId, firstName: 'Grace' }, CALL);
    const names = () =>
      Promise.all(here.origins.map(async (origin) => (await createApi(`${origin}/v1`, key).get('/me')).body));
    await expect
      .poll(names, { interval: 10 })
      .toMatchObject([{ firstName: 'Grace' }, { firstName: 'Grace' }, { firstName: 'Grace' }]);
    await here.accounts.users.deleteUser({ userId }, CALL);
    await expect.poll(() => statuses(key), { interval: 10 }).toEqual([401, 401, 401]);
  });

  test('of a user whose data are deleted makes nothing any more, though the key is still there', async () => {
    const { key, userId } = await here.createUser();
    const api = createApi(`${here.origins[0]}/v1`, key);
    expect((await api.post('/materials', { title: 'T' })).status).toBe(201);
    const clients = createClients(here);
    await clients.userData.deleteUserData({ userId }, CALL);
    closeClients(clients);
    expect((await api.post('/materials', { title: 'T' })).status).toBe(401);
    expect((await api.get('/materials')).body).toEqual({ materials: [] });
  });

  test('that is known is answered while a flood of unknown ones is', async () => {
    const { key } = await here.createUser();
    const api = createApi(`${here.origins[0]}/v1`, key, { mayBeUnavailable: true });
    expect((await api.get('/me')).status).toBe(200);
    const unknown = key.replace(/.{6}$/, '000000');
    const flood = Array.from({ length: 100 }, () => api.request('GET', '/me', { key: unknown }));
    expect((await api.get('/me')).status).toBe(200);
    for (const { status } of await Promise.all(flood)) expect([401, 503]).toContain(status);
  });
});

describe('while accounts is away', () => {
  test('keys are answered 503, not 401, and work again after it is back', async () => {
    const own = await startSystem();
    try {
      const { key } = await own.createUser();
      const api = createApi(`${own.origins[0]}/v1`, key, { mayBeUnavailable: true });
      expect((await api.get('/me')).status).toBe(200);
      await own.stopAccounts();
      await expect.poll(async () => (await api.get('/me')).status).toBe(503);
      await own.restartAccounts();
      await expect.poll(async () => (await api.get('/me')).status).toBe(200);
    } finally {
      await own.stop();
    }
  });
});

const CALL = { requestId: 'test' };
let here: TestSystem;

async function startAll(): Promise<void> {
  here = await startSystem({ facades: 3 });
}

const statuses = (key: string) =>
  Promise.all(here.origins.map(async (origin) => (await createApi(`${origin}/v1`, key).get('/me')).status));
