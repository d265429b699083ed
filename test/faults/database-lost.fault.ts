// npm start whose database dies under it: refused plainly meanwhile, back without a hand, or ended with the reason.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createApi } from '../support/api.ts';
import { holdServerStart } from '../support/held-server.ts';
import { createStartPlace, type StartPlace } from '../support/npm-start.ts';

let place: StartPlace;
let data: string;

beforeEach(() => {
  place = createStartPlace();
  data = join(place.dataDir, 'postgres/data');
});
afterEach(() => place.clear());

const killServer = () => {
  const [pid] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  process.kill(Number(pid), 'SIGKILL');
};

test('after kill -9 of the database, requests are 503 and the process is not ready until it is back', async () => {
  const started = await place.start({ OPS_PORT: '0', GATEWAY: 'off' });
  const api = createApi(started.base, started.key, { mayBeUnavailable: true });
  await api.create({ title: 'Kept' });
  const isReady = async () => (await fetch(started.ready)).status === 200;
  expect(await isReady()).toBe(true);
  const open = holdServerStart(data);
  killServer();
  for (const path of ['/materials', '/me']) {
    await expect.poll(async () => (await api.get(path)).status).toBe(503);
  }
  await expect.poll(async () => (await api.post('/materials', { title: 'Lost' })).status).toBe(503);
  await expect.poll(isReady).toBe(false);
  open();
  await expect.poll(isReady, { timeout: 30_000 }).toBe(true);
  const { status, body } = await api.get('/materials');
  expect([status, body]).toMatchObject([200, { materials: [{ title: 'Kept' }] }]);
  expect(await started.end('SIGTERM')).toBe(0);
});

test('where the database does not come back, the process ends with 1 and says why and what to do', async () => {
  const started = await place.start({ GATEWAY: 'off' });
  writeFileSync(join(data, 'postgresql.conf'), 'no_such_setting = 1\n');
  killServer();
  expect(await started.ended).toBe(1);
  expect(started.output()).toMatch(
    /^The embedded PostgreSQL in \S+ keeps failing \(restarted 5 times\): PostgreSQL does not start, .*FATAL: .* Fix this \(details in \S+postgres\.log\), then start again: acknowledged writes are kept\.$/m,
  );
});
