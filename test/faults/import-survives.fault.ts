// Promise: an import that is killed on the way leaves whole cards, and the next run brings the rest, each once. Every victim is killed
// KILLS times, at even steps of the import: 10 by default.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAccountsClients } from '../../services/programs/keys/clients.ts';
import { writePackage } from '../support/anki-files.ts';
import { ask } from '../support/database.ts';
import { ownFolder } from '../support/moving.ts';
import { startProcess } from '../support/processes.ts';
import { argumentsOf, newSecret, type ServiceProcess, startService } from '../support/services.ts';
import { runVerify } from '../support/verify.ts';
import { type StoppablePostgres, startStoppablePostgres } from './support/postgres.ts';
import { sized } from './support/rounds.ts';

const KILLS = sized(10);
const CARDS = 3000;
const REVIEWS = 10 * CARDS;

beforeAll(startAll);
afterAll(stopAll);

test.each(
  Object.entries({
    async 'the program'(program: Import) {
      await program.end('SIGKILL');
    },
    async scheduling() {
      await scheduling.kill();
      await scheduling.restart();
    },
    async PostgreSQL() {
      await postgres.kill();
      await postgres.start();
    },
  }),
)(
  `kill -9 of %s, ${KILLS} times during an import of ${CARDS} cards and ${REVIEWS} reviews: nothing is there twice, nothing is lost`,
  async (_name, kill) => {
    const user = await newUser();
    let program = startImport(user);
    let inTheMidst = 0;
    for (let turn = 1; turn <= KILLS; turn += 1) {
      while ((await countOf(user.userId)) < (CARDS * turn) / (KILLS + 1)) {
        if (!program.isRunning()) program = startImport(user);
        await sleep(5);
      }
      await kill(program);
      if ((await countOf(user.userId)) < CARDS) inTheMidst += 1;
    }
    expect(inTheMidst).toBeGreaterThan(KILLS / 2);
    await program.ended;
    expect(await startImport(user).ended).toBe(0);
    const again = startImport(user);
    await again.ended;
    expect(JSON.parse(again.stdout())).toEqual({
      materials: { new: 0, changed: 0, unchanged: CARDS, left: 0 },
      reviews: { new: 0, changed: 0, unchanged: REVIEWS, left: 0 },
      reasons: [],
    });
    expect(await contentOf(user.userId)).toBe(undisturbed);
    const { stdout } = await runVerify(postgres.databaseUrl, '--user', user.userId);
    expect(stdout).toContain('3,000 materials, 30,000 reviews, 0 snoozes: 0 drifted\n');
  },
);

const BEGAN_MS = Date.parse('2025-01-01T10:00:00Z');
const MINUTE_MS = 60_000;

let postgres: StoppablePostgres;
let scheduling: ServiceProcess;
let accounts: ServiceProcess;
let clients: ReturnType<typeof createAccountsClients>;
let file: string;
let undisturbed: string;
const folder = ownFolder();

async function startAll(): Promise<void> {
  file = await writePackage(folder.path(), 3, collection);
  postgres = await startStoppablePostgres();
  const { databaseUrl: DATABASE_URL } = postgres;
  scheduling = await startService('scheduling', { DATABASE_URL });
  accounts = await startService('accounts', { DATABASE_URL, KEY_PEPPER: `1:${newSecret()}` });
  clients = createAccountsClients({ target: accounts.target, trust: { serviceTokens: [], tls: undefined } });
  const user = await newUser();
  await startImport(user).ended;
  undisturbed = await contentOf(user.userId);
  expect(undisturbed).toHaveLength(32);
}

async function stopAll(): Promise<void> {
  clients.close();
  await scheduling.kill();
  await accounts.kill();
  await postgres.remove();
}

async function newUser() {
  const email = `${crypto.randomUUID()}@example.com`;
  const { user } = await clients.users.createUser({ email }, { requestId: 'fault' });
  return { email, userId: user?.userId ?? '' };
}

function startImport({ email }: { email: string }) {
  const env = { ACCOUNTS_URL: accounts.target, SCHEDULING_URL: scheduling.target };
  return startProcess(process.execPath, [...argumentsOf('import'), file, '--email', email, '--json'], {
    env,
  });
}

/** Of materials; none are counted while PostgreSQL is away. */
async function countOf(userId: string): Promise<number> {
  const [row] = await ask<{ count: number }>(
    postgres.databaseUrl,
    `SELECT count(*)::int AS count FROM scheduling.materials WHERE user_id = '${userId}'`,
  );
  return row?.count ?? 0;
}

/** A digest of all that came from the file: every material with its labels, baseline and reviews in order. */
async function contentOf(userId: string): Promise<string> {
  const [row] = await ask<{ digest: string }>(
    postgres.databaseUrl,
    `SELECT md5(string_agg(concat_ws('|', i.source, m.title, m.content, m.labels, m.ease_factor_hundredths, m.interval_days,
         m.repetitions, m.next_review_time, m.last_reviewed_time, m.revision, i.revision,
         (SELECT array_agg(l.label ORDER BY l.label) FROM scheduling.material_labels l
          WHERE l.user_id = m.user_id AND l.material_id = m.material_id),
         (SELECT array_agg((r.revision, r.quality, r.review_time, r.after_interval_days) ORDER BY r.revision)
          FROM scheduling.reviews r WHERE r.user_id = m.user_id AND r.material_id = m.material_id)), E'\\n' ORDER BY i.source)) AS digest
     FROM scheduling.materials m JOIN scheduling.imported_materials i USING (user_id, material_id)
     WHERE m.user_id = '${userId}'`,
  );
  return row?.digest ?? '';
}

const collection = {
  notes: Array.from({ length: CARDS }, (_, id) => ({ id: id + 1, fields: [`front ${id}`, 'back'] })),
  cards: Array.from({ length: CARDS }, (_, id) => ({
    id: id + 1,
    nid: id + 1,
    type: 2,
    due: 2000 + (id % 100),
    ivl: 6 + (id % 50),
    factor: 2360,
  })),
  log: Array.from({ length: REVIEWS }, (_, index) => ({
    id: BEGAN_MS + index * 6 * MINUTE_MS,
    cid: (index % CARDS) + 1,
    ease: 1 + (index % 4),
  })),
};

type Import = ReturnType<typeof startImport>;
