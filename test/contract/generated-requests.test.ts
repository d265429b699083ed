import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Api, createApi } from '../support/api.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { generateRequests, sendAll } from './generated-requests.ts';

let system: TestSystem;
let api: Api;
let materialId: string;

beforeAll(async () => {
  system = await startSystem();
  api = createApi(`${system.origins[0]}/v1`, (await system.createUser()).key);
  materialId = (await api.create({ title: 'Target' })).id;
});
afterAll(() => system.stop());

test('5,000 generated requests meet no 5xx and nothing outside the contract', async () => {
  const statuses = await sendAll(api, generateRequests(materialId, 5000, 20_261_121));
  expect([...statuses.keys()].toSorted()).toEqual([200, 201, 400, 404]);
}, 600_000);
