// The MCP server: an agent's client from npm calls its tools against the real service.
import { spawnSync } from 'node:child_process';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../services/platform/process/ports.ts';
import { type Forwarder, startForwarder } from '../support/http-forwarder.ts';
import { root } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';
import { startSystem, type TestSystem, type TestUser } from '../support/system.ts';

beforeAll(startAll);
afterAll(stopAll);

test('an agent learns the five tools and which of them only read', async () => {
  const { tools } = await agent.client.listTools();
  expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint ?? false])).toEqual([
    ['due', true],
    ['search', true],
    ['create', false],
    ['review', false],
    ['snooze', false],
  ]);
});

test('an agent learns what each grade means, in the words of the API', () => {
  expect(agent.client.getInstructions()?.replaceAll('\n', ' ')).toContain(
    'Grades: 5 immediate and confident, 4 correct after some thought, 3 correct with effort or minor gaps, 2 difficult recall with major gaps, 1 incorrect but familiar, 0 total blackout.',
  );
});

test('an agent studies: it finds what is due, reviews it, and puts another one off', async () => {
  const { material } = await agent.call('create', {
    title: 'Capital of Peru',
    content: 'Lima',
    type: 'flashcard',
  });
  const { material: other } = await agent.call('create', { title: 'Capital of Chile' });
  expect((await agent.call('search', { q: 'capital', limit: 1 })).materials).toEqual([other]);
  expect((await agent.call('search', { q: 'peru' })).materials).toEqual([material]);
  expect((await agent.call('due')).materials).toEqual([material, other]);
  expect((await agent.call('due', { limit: 1 })).materials).toEqual([material]);
  const { review } = await agent.call('review', { materialId: material.id, quality: 5 });
  expect(review).toMatchObject({ quality: 5, previousDueAt: material.nextReview });
  const { snooze } = await agent.call('snooze', { materialId: other.id, preset: '1h', reason: 'Lunch' });
  expect(snooze).toMatchObject({ materialIds: [other.id], reason: 'Lunch' });
  expect((await agent.call('due')).materials).toEqual([]);
});

test.each([
  [
    'review',
    { materialId: '01900000-0000-7000-8000-000000000000', quality: 4 },
    /^There is no material "01900000-0000-7000-8000-000000000000"\. Take the id of a material from due or search\./,
  ],
  ['review', { materialId: '01900000-0000-7000-8000-000000000000', quality: 6 }, /quality/],
  [
    'create',
    { title: 'A', sourceUrl: 'no URI' },
    /The field at fault is sourceUrl\. Correct it and call again\.$/,
  ],
  ['snooze', { materialId: '01900000-0000-7000-8000-000000000000' }, /^Give either preset or snoozeUntil\.$/],
  ['search', { q: '' }, /The field at fault is q\./],
])('%s with %j answers what to correct', async (tool, args, advice) => {
  expect(await agent.call(tool, args)).toMatch(advice);
});

test('a snooze is until the instant that is given, beside a preset as well, and keeps its reason', async () => {
  const { material } = await agent.call('create', { title: 'Capital of Peru' });
  const until = { preset: '1h', snoozeUntil: '2099-01-31T09:00:00+01:00' };
  const { snooze } = await agent.call('snooze', { materialId: material.id, ...until, reason: 'Exam' });
  expect(snooze).toMatchObject({ snoozeUntil: '2099-01-31T08:00:00.000Z', reason: 'Exam' });
});

test('an optional text that is empty counts as absent', async () => {
  const { material } = await agent.call('create', {
    title: 'Capital of Peru',
    content: '',
    sourceUrl: '',
    idempotencyKey: '',
  });
  expect(material).toMatchObject({ title: 'Capital of Peru', content: null, sourceUrl: null });
  const { snooze } = await agent.call('snooze', {
    materialId: material.id,
    preset: '1h',
    snoozeUntil: '',
    reason: '',
    idempotencyKey: '',
  });
  expect(snooze).toMatchObject({ materialIds: [material.id], reason: '' });
});

test.each([
  [404, '{"error":{"message":"There is no GET /reviews/due in this API."}}', /^There is no GET .* API_URL/],
  [302, '', /^The service is at another address: correct API_URL\./],
  [
    200,
    '<html>',
    /^HTTP status 200\. To go on, ask the person to check API_URL, which has to end with \/v1\.$/,
  ],
])(
  'where %i with %s answers in place of the API, its address is to be checked',
  async (status, body, advice) => {
    forwarder.fail({ status, body });
    expect(await agent.call('due')).toMatch(advice);
  },
);

test('a service that cannot be reached is named by the variable, or to be tried again', async () => {
  const lost = await startAgent(
    keyOfWriter.key,
    process.execPath,
    argumentsOf('mcp'),
    'http://127.0.0.1:1/v1',
  );
  expect(await lost.call('due')).toMatch(/^API_URL has a port that fetch does not allow\.$/);
  await lost.client.close();
  const away = `http://127.0.0.1:${await freePort()}/v1`;
  const alone = await startAgent(keyOfWriter.key, process.execPath, argumentsOf('mcp'), away);
  expect(await alone.call('due')).toBe(
    'GET /reviews/due: no connection, or it broke. Call again in a minute.',
  );
  await alone.client.close();
});

test('a read that fails says when to call again', async () => {
  forwarder.fail({ status: 503, headers: { 'retry-after': '99' }, body: '{}' });
  expect(await agent.call('due')).toBe('HTTP status 503. Call again in a minute.');
});

test.each([500, 503])(
  'a write of unknown outcome, after %i, is done once when it is repeated as its message says',
  async (status) => {
    const title = `Once after ${status}`;
    forwarder.fail({ status, headers: { 'retry-after': '99' }, body: '{}' });
    const message = await agent.call('create', { title });
    const [, idempotencyKey] = /with idempotencyKey "([^"]+)": then it is done once\.$/.exec(message) ?? [];
    const first = await agent.call('create', { title, idempotencyKey });
    expect(await agent.call('create', { title, idempotencyKey })).toEqual(first);
    expect((await agent.call('search', { q: title })).materials).toEqual([first.material]);
  },
);

test('a write that was done, though its answer was lost and its repetition refused for the limit, is done once', async () => {
  const title = 'Once before the limit';
  forwarder.fail('lose', { status: 429, headers: { 'retry-after': '99' }, body: '{}' });
  const message = await agent.call('create', { title });
  expect(message).toMatch(/^The key has used up its writes of a minute\. Wait 99 seconds\./);
  const [, idempotencyKey] = /with idempotencyKey "([^"]+)"/.exec(message) ?? [];
  const { material } = await agent.call('create', { title, idempotencyKey });
  expect((await agent.call('search', { q: title })).materials).toEqual([material]);
});

test('a limit that passes soon is waited for; a long one is told', async () => {
  forwarder.fail({ status: 429, headers: { 'retry-after': '1' }, body: '{}' });
  expect((await writer.call('create', { title: 'Waited' })).material.title).toBe('Waited');
  for (let written = 1; written < WRITE_LIMIT; written += 1)
    await writer.call('create', { title: `${written}` });
  expect(await writer.call('create', { title: 'One too many' })).toMatch(
    /^The key has used up its writes of a minute\. Wait \d+ seconds\. Then make the same call with idempotencyKey "[\w-]+": then it is done once\.$/,
  );
});

test('a key without the scope, and one that is not valid any more, are named without being shown', async () => {
  expect(await writer.call('review', { materialId: 'a', quality: 4 })).toBe(
    'The API key lacks a scope: this tool needs reviews:write. Ask the person for a key that has it.',
  );
  await system.accounts.apiKeys.revokeApiKey({ apiKeyId: keyOfWriter.apiKeyId }, { requestId: 'test' });
  await expect
    .poll(() => writer.call('create', { title: 'Too late' }))
    .toBe(
      'The API key is not valid: it is unknown, revoked, expired or not allowed from this address. Ask the person to set API_KEY to a valid one and to start this server again.',
    );
});

test.each([
  [{ API_URL: 'localhost:8080/v1', API_KEY: 'k' }, 'API_URL must begin with http:// or https://.\n'],
  [{}, 'API_KEY is not set. It takes a key of the API; --help says more.\n'],
  [{ API_KEY: 'rmk_live_…' }, 'API_KEY must be printable ASCII, without blanks.\n'],
])('does not start with %j, and names the variable', (env, stderr) => {
  const started = spawnSync(process.execPath, argumentsOf('mcp'), { cwd: root, env, encoding: 'utf8' });
  expect(started).toMatchObject({ status: 1, stderr, stdout: '' });
});

/** The tests of `agent` write less with its key. */
const WRITE_LIMIT = 16;

let system: TestSystem;
let forwarder: Forwarder;
/** Has all scopes. */
let agent: Agent;
/** Has one. */
let writer: Agent;
let keyOfWriter: TestUser;

async function startAll(): Promise<void> {
  system = await startSystem({ writeLimit: WRITE_LIMIT });
  forwarder = await startForwarder(system.origins[0] ?? '');
  const { key } = await system.createUser();
  agent = await startAgent(key, 'npm', ['run', '--silent', 'mcp']);
  keyOfWriter = await system.createUser(['materials:write']);
  writer = await startAgent(keyOfWriter.key, process.execPath, argumentsOf('mcp'));
}

async function stopAll(): Promise<void> {
  for (const each of [agent, writer]) await each.client.close();
  await forwarder.stop();
  await system.stop();
}

type Agent = Awaited<ReturnType<typeof startAgent>>;

/** An agent's connection to a server of its own; `call` resolves to the result, or to the text of the error. */
async function startAgent(
  apiKey: string,
  command: string,
  args: string[],
  apiUrl = `${forwarder.origin}/v1`,
) {
  const transport = new StdioClientTransport({
    command,
    args,
    cwd: root,
    env: { PATH: process.env.PATH ?? '', API_URL: apiUrl, API_KEY: apiKey },
    stderr: 'pipe',
  });
  const client = new Client({ name: 'agent', version: '1' });
  await client.connect(transport);
  return {
    client,
    async call(name: string, args: Record<string, unknown> = {}) {
      const result = await client.callTool({ name, arguments: args });
      const [{ text } = { text: '' }] = result.content as { text: string }[];
      // biome-ignore lint/suspicious/noExplicitAny: the shapes of the API, which each test compares.
      return result.isError === true ? text : (result.structuredContent as any);
    },
  };
}
