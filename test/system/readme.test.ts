// Runs what the README shows, and compares what comes back: nothing in it may be out of date.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDemoUser } from '../../services/programs/start/system.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';
import { OPERATOR, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { root } from '../support/processes.ts';
import { openShell } from '../support/shell.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

beforeAll(startAll);
afterAll(stopAll);

test('every command runs, here or where the list says, and every answer shown is the one that comes', async () => {
  const [normaliseSaid, normaliseShown] = [createNormaliser(), createNormaliser()];
  const counts = { answered: 0, run: 0 };
  shell = openShell(environment);
  for (const { command, answer } of stepsOf(readme)) {
    if (SETTING.test(command) || Object.hasOwn(RUN_ELSEWHERE, command)) continue;
    expect(command).toMatch(RUN_HERE);
    // npm without its own heading; nothing else is changed.
    const stdout = await shell.run(command.replaceAll(/npm run (?!--silent)/g, 'npm run --silent '));
    counts.run += 1;
    if (command.startsWith('for ')) expect(stdout).toMatch(/^(400 ){50,}(429 )+\n?$/);
    if (answer === undefined) continue;
    expectSame(normaliseSaid(stdout), { ...answer, text: normaliseShown(answer.text) }, command);
    counts.answered += 1;
  }
  expect(counts).toEqual({ answered: 11, run: 21 });
});

test('the list of what runs elsewhere names commands that are there and files that exist', () => {
  const commands = stepsOf(readme).map(({ command }) => command);
  expect(commands).toEqual(expect.arrayContaining(Object.keys(RUN_ELSEWHERE)));
  const files = Object.values(RUN_ELSEWHERE).flat();
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** What is run here, with the shell of the reader. */
const RUN_HERE = /^(curl|for|MADE=|ID=|KEY=|KEY_ID=|npm run (keys|users|migrate|verify))/;

/** Addresses and secrets of npm start; here the running system's own values take their place. */
const SETTING = /^(?:export )?(BASE|DATABASE_URL|KEY_PEPPER|TOKEN|GRAPHQL|GATEWAY_TOKENS|MAIL_DIR)=/;

let here: TestSystem;
let gateway: TestGateway;
let ownDatabase: TestDatabase;
let shell: ReturnType<typeof openShell> | undefined;
const environment: Record<string, string> = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' };

async function startAll(): Promise<void> {
  here = await startSystem({ writeLimit: 60 });
  gateway = await startTestGateway(here);
  ownDatabase = await createMigratedDatabase();
  const { origins, accountsTarget, trust } = here;
  const baseUrl = `${origins[0]}/v1`;
  await makeDemoUser({ accountsTarget, trust });
  const { databaseUrl } = ownDatabase;
  Object.assign(environment, {
    BASE: baseUrl,
    TOKEN: OPERATOR,
    GRAPHQL: `${gateway.origin}/graphql`,
    ACCOUNTS_URL: accountsTarget,
    DATABASE_URL: databaseUrl,
  });
}

async function stopAll(): Promise<void> {
  await shell?.end();
  await gateway.stop();
  await here.stop();
  await ownDatabase.drop();
}

/** Shell blocks in order: whole where an answer follows, else line by line. */
function stepsOf(document: string): Step[] {
  const blocks = [...document.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)];
  return blocks.flatMap(([, kind, text = ''], index): Step[] => {
    if (kind !== 'sh') return [];
    const [, nextKind = '', answer = ''] = blocks[index + 1] ?? [];
    const isAnswered = ['json', 'http', 'text'].includes(nextKind);
    if (text.startsWith('for ')) return [{ command: text.trim(), answer: undefined }];
    if (isAnswered) return [{ command: text.trim(), answer: { kind: nextKind, text: answer } }];
    const lines = text.trim().replaceAll('\\\n', '').split('\n');
    return lines.map((command) => ({ command, answer: undefined }));
  });
}

/**
 * Makes two runs comparable: the n-th different id or time reads the same in both, so that those which have to be
 * equal still are; keys and seconds to wait lose their value.
 */
function createNormaliser(): (text: string) => string {
  const names = new Map<string, string>();
  const nameOf = (kind: string) => (value: string) => {
    const name = names.get(value) ?? `${kind} ${names.size + 1}`;
    names.set(value, name);
    return name;
  };
  return (text) =>
    text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, nameOf('id'))
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, nameOf('time'))
      .replaceAll(/rmk_live_\w{49}/g, 'rmk_live_…')
      .replaceAll(/(;t=|retry-after: )\d+/g, '$1N');
}

/** Status line, headers and JSON body of `curl -i`. */
function parseHttp(text: string) {
  const [head = '', body = ''] = text.replaceAll('\r', '').split('\n\n');
  const [status = '', ...headers] = head.split('\n');
  return { status, headers, body: JSON.parse(body) };
}

function expectSame(said: string, shown: { kind: string; text: string }, command: string): void {
  if (shown.kind === 'json') {
    expect(JSON.parse(said), command).toEqual(JSON.parse(shown.text));
  } else if (shown.kind === 'http') {
    const [is, wanted] = [parseHttp(said), parseHttp(shown.text)];
    expect([is.status, is.body], command).toEqual([wanted.status, wanted.body]);
    expect(is.headers, command).toEqual(expect.arrayContaining(wanted.headers));
  } else {
    expect(said.trim(), command).toBe(shown.text.trim());
  }
}

/** What cannot be, and what runs it. A command that is neither fails this test. */
const RUN_ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'npm ci && npm start': ['.ci/run', 'test/system/start.test.ts'],
  'npm ci && npm test': ['.ci/run'],
  'npm run accounts &': ['test/system/services-alone.test.ts'],
  'npm run scheduling &': ['test/system/services-alone.test.ts'],
  'npm run rest &': ['test/system/services-alone.test.ts'],
  'npm run seed -- --users 20 --materials 200': ['test/system/seed.test.ts'],
  // By hand: on a machine that does something else its figures mean little.
  'npm run bench': ['test/bench/main.ts'],
  'npm run gateway &': ['test/system/services-alone.test.ts'],
  'npm run reminders &': ['test/system/services-alone.test.ts'],
  'npm run doctor': ['test/system/doctor.test.ts'],
  'deploy/make-secrets': ['test/system/containers.test.ts'],
  'docker-compose up -d --build': ['test/system/containers.test.ts'],
  'docker-compose exec -T accounts node services/programs/keys/main.ts create --email ada@example.com   --scopes materials:read,materials:write,reviews:read,reviews:write,snooze:write,profile:read':
    ['test/system/containers.test.ts'],
};

type Step = { command: string; answer: { kind: string; text: string } | undefined };
