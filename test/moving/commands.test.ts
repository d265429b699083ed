// npm run import and npm run export, as processes beside a running system.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { test } from '../fixtures.ts';
import { writePackage } from '../support/anki-files.ts';
import { OPERATOR, type TestGateway } from '../support/gateway.ts';
import { ownFolder } from '../support/moving.ts';
import { startProcess } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';
import type { TestSystem } from '../support/system.ts';

test('a package comes in, changes nothing a second time, and leaves as JSONL that another user takes as the same bytes', async ({
  system,
}) => {
  const [email, other] = [await newEmail(system), await newEmail(system)];
  const path = await writePackage(folder.path(), 3, collection);
  const dry = await run(system, 'import', path, '--email', email, '--json', '--dry-run');
  const first = await run(system, 'import', path, '--email', email, '--json');
  expect(JSON.parse(first.stdout)).toEqual({
    materials: { ...none, new: 30, left: 1 },
    reviews: { ...none, new: 30 },
    reasons: [{ reason: 'the card has no note', count: 1, examples: ['card 99'] }],
  });
  expect(dry.stdout).toBe(first.stdout);
  const again = await run(system, 'import', path, '--email', email);
  expect(again.stdout).toContain(
    'Materials: 0 new, 0 changed, 30 unchanged, 1 left out\nReviews: 0 new, 0 changed, 30 unchanged',
  );
  const file = join(folder.path(), 'export.jsonl');
  expect((await run(system, 'export', '--email', email, '--as', 'jsonl', file)).code).toBe(0);
  expect((await run(system, 'import', file, '--email', other, '--as', 'jsonl')).code).toBe(0);
  expect((await run(system, 'export', '--email', other, '--as', 'jsonl')).stdout).toBe(
    await readFile(file, 'utf8'),
  );
});

test('the dashboard’s files are those of npm run export, byte for byte, and so are those of a user restored from one', async ({
  system,
  gateway,
}) => {
  const [{ email, userId }, other] = [await newAccount(system), await newAccount(system)];
  await run(system, 'import', await writePackage(folder.path(), 3, collection), '--email', email);
  await study(gateway.clients, userId);
  const saved = async (form: string, id: string) => {
    const headers = { authorization: `Bearer ${OPERATOR}` };
    return (await fetch(`${gateway.origin}/exports/users/${id}?as=${form}`, { headers })).text();
  };
  const file = join(folder.path(), 'whole.jsonl');
  await run(system, 'export', '--email', email, '--as', 'jsonl', file);
  const jsonl = await readFile(file, 'utf8');
  for (const what of [
    '"kind":"settings"',
    '"undoneAt":"2',
    '"cancelledAt":"2',
    '"spreadDays":2',
    '"archivedAt":"2',
    '"baseline":{',
    '"labels":["Ä;b","c/d"]',
    '"scheduler":"SCHEDULER_FSRS"',
  ])
    expect(jsonl).toContain(what);
  expect(await saved('jsonl', userId)).toBe(jsonl);
  const csv = (await run(system, 'export', '--email', email, '--as', 'csv')).stdout;
  // fetch leaves out the byte order mark.
  expect(`\ufeff${await saved('csv', userId)}`).toBe(csv);

  const dry = await run(system, 'import', file, '--email', other.email, '--dry-run', '--json');
  const restored = await run(system, 'import', file, '--email', other.email, '--json');
  expect(dry.stdout).toBe(restored.stdout);
  expect(await saved('jsonl', other.userId)).toBe(jsonl);
  expect((await run(system, 'export', '--email', other.email, '--as', 'csv')).stdout).toBe(csv);
});

test('what leaves as a package for Anki or as CSV comes in again', async ({ system }) => {
  const [email, other] = [await newEmail(system), await newEmail(system)];
  const first = await run(
    system,
    'import',
    await writePackage(folder.path(), 1, collection),
    '--email',
    email,
  );
  expect(first.output).toContain('30 new');
  for (const form of ['apkg', 'csv']) {
    const file = join(folder.path(), `export.${form}`);
    expect((await run(system, 'export', '--email', email, '--as', form, file)).code).toBe(0);
    const { stdout } = await run(system, 'import', file, '--email', form === 'csv' ? email : other, '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      materials: form === 'csv' ? { ...none, unchanged: 30 } : { ...none, new: 30 },
      reviews: form === 'csv' ? none : { ...none, new: 30 },
      reasons: [],
    });
  }
});

test('an import that cannot be done exits with 1 and says why', async ({ system }) => {
  const email = await newEmail(system);
  const answers = await ask(system, 'import', [
    '',
    `absent --email ${email}`,
    'absent --email nobody@example.com',
    `x --email ${email} --as pdf`,
    `x --email ${email} --time-zone Mars`,
    'x',
  ]);
  expect(answers.map(({ code, output }) => [code, output])).toEqual([
    [1, 'invalid_request: Name one file. See "npm run import -- --help".\n'],
    [1, 'invalid_request: There is no file absent.\n'],
    [1, expect.stringMatching(/^not_found: There is no user nobody@example\.com\./)],
    [1, expect.stringMatching(/^invalid_request: --as must be one of apkg, csv, jsonl, mnemosyne\./)],
    [1, expect.stringMatching(/^invalid_request: --time-zone must be an IANA time zone/)],
    [1, expect.stringMatching(/^invalid_request: --email is required\./)],
  ]);
});

test('an export to where it cannot be written exits with 1 and says why', async ({ system }) => {
  const email = await newEmail(system);
  const [absent, isFolder] = [join(folder.path(), 'absent', 'x'), folder.path()];
  const file = join(folder.path(), 'file');
  await writeFile(file, '');
  const long = join(folder.path(), 'é'.repeat(128));
  const answers = await ask(system, 'export', [
    `--email ${email} --as jsonl ${absent}`,
    `--email ${email} --as apkg ${isFolder}`,
    `--email ${email} --as csv ${file}/x`,
    `--email ${email} --as csv ${long}`,
  ]);
  expect(answers.map(({ code, output }) => [code, output])).toEqual([
    [1, `invalid_request: ${absent} cannot be written: its folder does not exist.\n`],
    [1, `invalid_request: ${isFolder} cannot be written: it is a folder.\n`],
    [1, `invalid_request: ${file}/x cannot be written: a file is in the place of a folder above it.\n`],
    [1, `invalid_request: ${long} cannot be written: its name is too long.\n`],
  ]);
});

test('an export to a pipe goes through it, and leaves it', async ({ system }) => {
  const email = await newEmail(system);
  const pipe = join(folder.path(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const text = readFile(pipe, 'utf8');
  expect(await run(system, 'export', '--email', email, '--as', 'jsonl', pipe)).toMatchObject({ code: 0 });
  expect((await text).split('\n')[0]).toBe('{"kind":"collection","version":1}');
  expect((await stat(pipe)).isFIFO()).toBe(true);
});

test('a file is looked for, and made, where npm was called', async ({ system }) => {
  const [email, other] = [await newEmail(system), await newEmail(system)];
  expect((await run(system, 'export', '--email', email, '--as', 'jsonl', 'here.jsonl')).code).toBe(0);
  expect(await readFile(join(folder.path(), 'here.jsonl'), 'utf8')).toContain('"kind":"collection"');
  expect((await run(system, 'import', 'here.jsonl', '--email', other)).code).toBe(0);
});

test('a file without a card says so', async ({ system }) => {
  const path = await writePackage(folder.path(), 3, { notes: [], cards: [] });
  const { code, stdout } = await run(system, 'import', path, '--email', await newEmail(system));
  expect(stdout).toMatch(/^There is no card in the file\.\nMaterials: 0 new, /);
  expect(code).toBe(0);
});

test('a file that is damaged in its last line stores nothing', async ({ system }) => {
  const email = await newEmail(system);
  const path = join(folder.path(), 'damaged.jsonl');
  await writeFile(path, `${'{"kind":"material","title":"a"}\n'.repeat(50)}{"kind":"mat`);
  expect((await run(system, 'import', path, '--email', email)).output).toContain(
    'Line 51 is not a JSON object',
  );
  const { stdout } = await run(system, 'export', '--email', email, '--as', 'jsonl');
  expect(stdout.trim().split('\n')).toHaveLength(2);
});

test('an export whose reader wants no more ends without a word', async ({ system }) => {
  const email = await newEmail(system);
  await run(system, 'import', await writePackage(folder.path(), 1, collection), '--email', email);
  const command = [process.execPath, ...argumentsOf('export'), '--email', email, '--as', 'csv'].join(' ');
  const program = startProcess('bash', ['-c', `set -o pipefail; ${command} | true`], {
    env: { ACCOUNTS_URL: system.accountsTarget, SCHEDULING_URL: system.schedulingTarget },
  });
  expect([await program.ended, program.output()]).toEqual([0, '']);
});

test.runIf(existsSync('/dev/full'))(
  'an export to a full disk exits with 1 and says so',
  async ({ system }) => {
    const email = await newEmail(system);
    const command = [process.execPath, ...argumentsOf('export'), '--email', email, '--as', 'csv'].join(' ');
    const program = startProcess('bash', ['-c', `${command} > /dev/full`], {
      env: { ACCOUNTS_URL: system.accountsTarget, SCHEDULING_URL: system.schedulingTarget },
    });
    expect([await program.ended, program.output()]).toEqual([
      1,
      'invalid_request: The output cannot be written (ENOSPC).\n',
    ]);
  },
);

test('without a service, both say which one does not answer', async ({ system }) => {
  const away = { ...system, accountsTarget: '127.0.0.1:1' };
  for (const args of [
    ['import', 'x'],
    ['export', '--as', 'csv'],
  ] as const) {
    const [script, ...others] = args;
    const { code, output } = await run(away, script, ...others, '--email', 'a@example.com');
    expect(output).toContain('unavailable: One of the services at 127.0.0.1:1, ');
    expect(code).toBe(1);
  }
});

const folder = ownFolder();
const DAY_MS = 86_400_000;
const BEGAN_MS = Date.parse('2026-01-01T10:00:00Z');

const none = { new: 0, changed: 0, unchanged: 0, left: 0 };

/** Runs the npm script beside the system, as npm does if it is called in the folder. */
async function run(system: TestSystem, script: 'import' | 'export', ...args: string[]) {
  const env = {
    ACCOUNTS_URL: system.accountsTarget,
    SCHEDULING_URL: system.schedulingTarget,
    INIT_CWD: folder.path(),
  };
  const program = startProcess(process.execPath, [...argumentsOf(script), ...args], { env });
  const code = await program.ended;
  return { code, stdout: program.stdout(), output: program.output() };
}

/** Runs the npm script with each of `calls`, in one process. */
async function ask(system: TestSystem, script: 'import' | 'export', calls: string[]) {
  const [file = '', ...flags] = argumentsOf(script).toReversed();
  const ofFile = calls.map((call) => `${file} ${call}`.trim());
  const asked = [...flags.toReversed(), 'test/system/fixtures/ask.ts', ...ofFile];
  const env = { ACCOUNTS_URL: system.accountsTarget, SCHEDULING_URL: system.schedulingTarget };
  const program = startProcess(process.execPath, asked, { env });
  expect([await program.ended, program.output()]).toEqual([0, program.stdout()]);
  return JSON.parse(program.stdout()) as { code: number; stdout: string; output: string }[];
}

async function newAccount(system: TestSystem) {
  const email = `${crypto.randomUUID()}@example.com`;
  const { user } = await system.accounts.users.createUser({ email, timeZone: 'Europe/Berlin' });
  return { email, userId: user?.userId ?? '' };
}

const newEmail = async (system: TestSystem) => (await newAccount(system)).email;

/** Does with the materials of an import all that a learner and an operator can do. */
async function study({ materials, reviews, snoozes, learners }: TestGateway['clients'], userId: string) {
  const call = { requestId: 'test' };
  const ids = (await materials.listMaterials({ userId }, call)).materials.map(({ materialId }) => materialId);
  const review = async (materialId = '', quality = 1) =>
    (await reviews.submitReview({ userId, materialId, quality }, call)).review?.reviewId ?? '';
  await materials.createMaterial({ userId, title: 'own', labels: ['Ä;b', 'c/d'] }, call);
  for (const quality of [4, 1, 4, 1]) await review(ids[0], quality);
  await reviews.undoReview({ userId, reviewId: await review(ids[1], 5) }, call);
  await learners.updateLearnerSettings({ userId, scheduler: 'SCHEDULER_FSRS', leechLapses: 2 }, call);
  await review(ids[2], 4);
  await reviews.undoReview({ userId, reviewId: await review(ids[3], 5) }, call);
  const snooze = async (materialIds: string[]) =>
    (
      await snoozes.snoozeMaterials(
        { userId, materialIds, preset: 'SNOOZE_PRESET_TOMORROW', timeZone: 'UTC', reason: 'ill' },
        call,
      )
    ).snooze?.snoozeId ?? '';
  await snooze(ids.slice(4, 7));
  await snoozes.cancelSnooze({ userId, snoozeId: await snooze(ids.slice(7, 9)) }, call);
  await snoozes.spreadBacklog({ userId, days: 2, timeZone: 'UTC' }, call);
  for (const materialId of ids.slice(9, 11)) await materials.archiveMaterial({ userId, materialId }, call);
  await materials.restoreMaterial({ userId, materialId: ids[10] ?? '' }, call);
  await materials.updateMaterial({ userId, materialId: ids[11] ?? '', labels: ['new'] }, call);
}

const cards = Array.from({ length: 30 }, (_, index) => ({
  id: index + 1,
  nid: index + 1,
  type: 2,
  due: 10,
  ivl: 6,
  factor: 2360,
}));
const collection = {
  notes: cards.map(({ id }) => ({ id, fields: [`front ${id}`, 'back'] })),
  cards: [...cards, { id: 99, nid: 99 }],
  log: cards.map(({ id }) => ({ id: BEGAN_MS + id * DAY_MS, cid: id })),
};
