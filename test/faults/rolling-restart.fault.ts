// Promise: services restart one after the other, secrets are exchanged, and a new version with a migration comes beside the old one,
// while 50 clients notice nothing.

import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../support/processes.ts';
import { newSecret, type ServiceProcess, startService } from '../support/services.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { type Load, startLoad, type Use } from './support/load.ts';
import { ROUNDS } from './support/rounds.ts';

beforeAll(startAll);
afterAll(stopAll);

describe('under 50 clients no request fails', () => {
  test('while each of two accounts, two scheduling and two rest is restarted in turn', async () => {
    await restartEach([...here.accounts, ...here.scheduling, ...here.rest]);
    expect(await expectNothingFailed()).toBeGreaterThan(100);
  });

  test.skipIf(ROUNDS < 20)('while SERVICE_TOKEN is exchanged in the three documented steps', async () => {
    const everything = [...here.accounts, ...here.scheduling, ...here.rest];
    await restartEach(everything, { SERVICE_TOKEN: `${OLD_TOKEN},${NEW_TOKEN}` });
    await restartEach(everything, { SERVICE_TOKEN: `${NEW_TOKEN},${OLD_TOKEN}` });
    await restartEach(everything, { SERVICE_TOKEN: NEW_TOKEN });
    expect(await expectNothingFailed()).toBeGreaterThan(100);
  });

  test.skipIf(ROUNDS < 20)('while KEY_PEPPER is exchanged in the three documented steps', async () => {
    await restartEach(here.accounts, { KEY_PEPPER: `${OLD_PEPPER},${NEW_PEPPER}` });
    await restartEach(here.accounts, { KEY_PEPPER: `${NEW_PEPPER},${OLD_PEPPER}` });
    await expect
      .poll(() => here.sql('SELECT FROM accounts.api_keys WHERE pepper_version = $$1$$'), {
        timeout: 120_000,
      })
      .toEqual([]);
    await restartEach(here.accounts, { KEY_PEPPER: NEW_PEPPER });
    expect(await expectNothingFailed()).toBeGreaterThan(100);
  });

  test('while a new version with a migration comes beside the old one, and an old one returns to the new schema', async () => {
    const upgraded = await startService(
      'scheduling',
      { DATABASE_URL: here.databaseUrl, SERVICE_TOKEN: OLD_TOKEN },
      { folder: newVersion },
    );
    expect(await here.sql('SELECT name FROM scheduling.schema_migrations ORDER BY id DESC LIMIT 1')).toEqual([
      { name: '9999_next-version' },
    ]);
    await restartEach(here.scheduling.slice(0, 1));
    expect(await expectNothingFailed()).toBeGreaterThan(100);
    expect(await upgraded.stop()).toBe(0);
  });
});

const [OLD_TOKEN, NEW_TOKEN] = [newSecret(), newSecret()];
const [OLD_PEPPER, NEW_PEPPER] = [`1:${newSecret()}`, `2:${newSecret()}`];

let here: Deployment;
let load: Load;
let newVersion: string;
let keys: { key: string; materialId: string }[];

async function startAll(): Promise<void> {
  newVersion = copyWith(MIGRATION);
  here = await startDeployment({
    replicas: { accounts: 2, scheduling: 2, rest: 2 },
    environment: { SERVICE_TOKEN: OLD_TOKEN, KEY_PEPPER: OLD_PEPPER },
    trust: { serviceTokens: [OLD_TOKEN], tls: undefined },
  });
  keys = [];
  for (let index = 0; index < 10; index += 1) {
    const { key } = await here.createKey();
    // As many as clients, since hardly anybody reviews a material twice at once.
    for (const materialId of await here.createMaterials(key, 5)) keys.push({ key, materialId });
  }
  load = startLoad({ origins: here.origins, workers: 50, pauseMs: PAUSE_MS, next: anyUse });
}

async function stopAll(): Promise<void> {
  await load?.stop();
  await here?.stop();
  rmSync(newVersion, { recursive: true, force: true });
}

/** Up to 500 requests a second: a load that two cores carry while they also start processes. */
const PAUSE_MS = 100;
let turn = 0;

/** How long to wait, as documented, after one is ready and before the next is ended: until the clients have found it. */
const SETTLE_MS = 2000;

/** This version with one migration more. */
function copyWith(migration: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'srs-upgrade-'));
  for (const name of ['services', 'proto', 'generated', 'package.json'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'services/scheduling/migrations/9999_next-version.sql'), migration);
  return folder;
}

function anyUse(): Use {
  turn += 1;
  const { key, materialId } = keys[turn % keys.length] ?? { key: '', materialId: '' };
  if (turn % 3 === 0)
    return { method: 'POST', path: `/reviews/${materialId}`, key, json: { quality: turn % 6 } };
  if (turn % 3 === 1) return { method: 'GET', path: '/reviews/due', key };
  return turn % 2 === 0
    ? { method: 'GET', path: '/me', key }
    : { method: 'POST', path: '/materials', key, json: { title: `T ${turn}` } };
}

/** One at a time: told to end, ended, started anew with `changes`. */
async function restartEach(services: readonly ServiceProcess[], changes: Record<string, string> = {}) {
  for (const service of services) {
    expect(await service.stop(), service.log().slice(-2000)).toBe(0);
    await service.restart(changes);
    await sleep(SETTLE_MS);
  }
}

/** Ends the load of before, of which nothing may have failed, and begins anew. */
async function expectNothingFailed(): Promise<number> {
  const failures = await load.stop();
  const answered = load.answered();
  load = startLoad({ origins: here.origins, workers: 50, pauseMs: PAUSE_MS, next: anyUse });
  expect(failures, failures.length === 0 ? '' : reasons()).toEqual([]);
  return answered;
}

/** Why the services refused: the latest such lines of their logs. */
function reasons(): string {
  const lines = [...here.rest, ...here.scheduling, ...here.accounts].flatMap((service) => service.lines());
  const refused = lines.filter(({ status, msg }) => status === 503 || msg === 'call failed: unavailable');
  return refused
    .slice(-60)
    .map((line) => JSON.stringify(line))
    .join('\n');
}

/** What a later version may bring: a column and a table more, both of which the old code knows nothing of. */
const MIGRATION = `-- Up Migration
ALTER TABLE scheduling.reviews ADD COLUMN device text;
ALTER TABLE scheduling.materials ADD COLUMN language text NOT NULL DEFAULT 'und';
CREATE TABLE scheduling.notes (user_id uuid NOT NULL, note_id uuid NOT NULL, PRIMARY KEY (user_id, note_id));
-- Down Migration
`;
