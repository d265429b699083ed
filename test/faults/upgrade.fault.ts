// Promise: a new version with a migration comes beside the old one under load, and nobody notices; the old one can return.
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServiceProcess, startService } from '../support/services.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { startLoad } from './support/load.ts';

const root = dirname(dirname(import.meta.dirname));
/** What a later version may bring: a column and a table more, both of which the old code knows nothing of. */
const MIGRATION = `-- Up Migration
ALTER TABLE scheduling.reviews ADD COLUMN device text;
ALTER TABLE scheduling.materials ADD COLUMN language text NOT NULL DEFAULT 'und';
CREATE TABLE scheduling.notes (user_id uuid NOT NULL, note_id uuid NOT NULL, PRIMARY KEY (user_id, note_id));
-- Down Migration
`;

let newVersion: string;
let here: Deployment;
let upgraded: ServiceProcess | undefined;
beforeAll(async () => {
  newVersion = mkdtempSync(join(tmpdir(), 'srs-upgrade-'));
  for (const name of ['services', 'proto', 'generated', 'package.json']) {
    cpSync(join(root, name), join(newVersion, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(newVersion, 'node_modules'));
  writeFileSync(join(newVersion, 'services/scheduling/migrations/9999_next-version.sql'), MIGRATION);
  here = await startDeployment({ replicas: { accounts: 1, scheduling: 2, rest: 1 } });
});
afterAll(async () => {
  await upgraded?.kill();
  await here?.stop();
  rmSync(newVersion, { recursive: true, force: true });
});

test('scheduling is upgraded one after the other under 20 clients, and no request fails', async () => {
  const { key } = await here.createKey();
  const ids = await here.createMaterials(key, 10);
  let turn = 0;
  const load = startLoad({
    origins: here.origins,
    workers: 20,
    pauseMs: 10,
    next: () => {
      turn += 1;
      if (turn % 3 === 0) return { method: 'GET', path: '/reviews/due', key };
      if (turn % 3 === 1) return { method: 'POST', path: '/materials', key, json: { title: `T ${turn}` } };
      return { method: 'POST', path: `/reviews/${ids[turn % ids.length]}`, key, json: { quality: turn % 6 } };
    },
  });
  await sleep(500);
  // The new one migrates while both old ones work, which go on with the new schema.
  upgraded = await startService('scheduling', { DATABASE_URL: here.databaseUrl }, { folder: newVersion });
  const [found] = await here.sql<{ name: string }>(
    'SELECT name FROM scheduling.schema_migrations ORDER BY id DESC LIMIT 1',
  );
  expect(found?.name).toBe('9999_next-version');
  await sleep(1000);
  // And an old one starts on it, as after a roll-back.
  const [first] = here.scheduling;
  expect(await first?.stop()).toBe(0);
  await first?.restart();
  await sleep(1500);
  expect(await load.stop()).toEqual([]);
  expect(load.answered()).toBeGreaterThan(100);
  expect(await upgraded.stop()).toBe(0);
});
