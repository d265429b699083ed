import { expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { type Api, createApi } from '../support/api.ts';
import { generateRequests, sendAll } from './generated-requests.ts';

test.beforeAll(prepare);

test('2,000 generated requests meet no 5xx and nothing outside the contract', async () => {
  const statuses = await sendAll(api, generateRequests(materialId, 2000, 20_261_121));
  expect([...statuses.keys()].toSorted()).toEqual([200, 201, 400, 404]);
}, 600_000);

let system: Given<'system'>['system'];
let api: Api;
let materialId: string;

async function prepare({ system: shared }: Given<'system'>): Promise<void> {
  system = shared;
  api = createApi(`${system.origins[0]}/v1`, (await system.createUser()).key);
  materialId = (await api.create({ title: 'Target' })).id;
}
