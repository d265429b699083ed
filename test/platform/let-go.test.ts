import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CALL, newUserId, startTestScheduling, type TestScheduling } from '../support/scheduling.ts';

let here: TestScheduling;
beforeAll(async () => {
  here = await startTestScheduling();
});
afterAll(() => here.stop());

setFlagsFromString('--expose-gc');
const collect: (options?: { type: 'minor' }) => void = runInNewContext('gc');
const heapMiB = () => process.memoryUsage().heapUsed / 1024 ** 2;

test('rows and responses are garbage for the next scavenge, not only for a full collection', async () => {
  const userId = newUserId();
  for (let index = 0; index < 20; index += 1) await here.create(userId, `${index} ${'x'.repeat(200)}`);
  const read = async (times: number) => {
    for (let time = 0; time < times; time += 1) await here.materials.listMaterials({ userId }, CALL);
  };
  await read(100);
  collect();
  const before = heapMiB();
  await read(1000);
  for (let time = 0; time < 3; time += 1) collect({ type: 'minor' });
  // A thousand lists of 20 are some 60 MiB of rows, materials and messages.
  expect(heapMiB() - before).toBeLessThan(15);
});
