// npm run users, against the services: what each command shows and leaves behind, and how it refuses.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Clients, closeClients, createClients } from '../../gateway/clients.ts';
import type { Output } from '../../services/programs/subcommands.ts';
import { COMMANDS, type Options } from '../../services/programs/users/commands.ts';
import { argumentsOf } from '../support/services.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { hasTerminal, startOnTerminal } from '../support/terminal.ts';

beforeAll(startAll);
afterAll(stopAll);

test('list shows all users, newest first, or the one with an address, in JSON and in columns', async () => {
  const [older, newer] = [await newUser(), await newUser()];
  const all = JSON.parse(await run('list', {}));
  expect(all.slice(0, 2).map(({ id }: { id: string }) => id)).toEqual([newer.userId, older.userId]);
  expect(JSON.parse(await run('list', { email: older.email.toUpperCase() }))).toEqual([
    {
      id: older.userId,
      email: older.email,
      firstName: null,
      lastName: null,
      plan: 'free',
      sandbox: false,
      timeZone: 'UTC',
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    },
  ]);
  const [head, row] = (await run('list', { email: older.email, json: false })).split('\n');
  expect(head).toMatch(/^ID +SINCE +PLAN +SANDBOX +TIME ZONE +E-MAIL +NAME$/);
  expect(row).toMatch(new RegExp(`^${older.userId}  \\S{24}  free {14}UTC +${older.email}$`));
});

test('edit changes what is given, removes an empty name, and stands in the timeline', async () => {
  const { userId, email } = await newUser();
  const name = { 'first-name': 'Grace', 'last-name': 'Hopper' };
  await run('edit', { email, ...name, plan: 'premium', 'time-zone': 'Asia/Tokyo' });
  const changed = { 'new-email': `grace.${email}`, 'last-name': '' };
  expect(JSON.parse(await run('edit', { email, ...changed }))).toMatchObject({
    id: userId,
    email: `grace.${email}`,
    firstName: 'Grace',
    lastName: null,
    plan: 'premium',
    timeZone: 'Asia/Tokyo',
  });
  const { events } = await clients.userEvents.listUserEvents({ userId }, CALL);
  const of = ({ action, actor }: { action: string; actor: string }) => `${action} by ${actor}`;
  expect(events.slice(0, 2).map(of)).toEqual(['updateUser by users', 'updateUser by users']);
});

test('edit that changes nothing stands in no timeline', async () => {
  const { userId, email } = await newUser();
  await run('edit', { email, plan: 'free', 'time-zone': 'UTC' });
  const { events } = await clients.userEvents.listUserEvents({ userId }, CALL);
  expect(events.map(({ action }) => action)).toEqual(['createApiKey']);
});

test('edit names the option of a wrong address', async () => {
  const { email } = await newUser();
  await expect(run('edit', { email, 'new-email': 'none' })).rejects.toMatchObject({
    field: 'new_email',
    message: 'new_email must be an address such as ada@example.com.',
  });
});

test('export prints everything that is held of the user as one JSON object, and no key', async () => {
  const { userId, email, apiKeyId, materialId } = await newUser();
  const today = new Date().toISOString().slice(0, 10);
  const counted = { apiKeyId, date: today, route: 'GET /v1/me', status: 200, requests: 3 };
  await clients.apiKeys.reportKeyRequests({ counts: [counted] }, CALL);
  const text = await run('export', { email });
  expect(JSON.parse(text)).toEqual({
    user: expect.objectContaining({ userId, email, createTime: expect.stringMatching(/^20.*Z$/) }),
    apiKeys: [expect.objectContaining({ apiKeyId })],
    events: [
      expect.objectContaining({ action: 'exportUser' }),
      expect.objectContaining({ action: 'createApiKey' }),
    ],
    materials: [expect.objectContaining({ materialId, title: 'Ohm’s law', intervalDays: 1 })],
    reviews: [expect.objectContaining({ materialId, quality: 4 })],
    snoozes: [],
    keyRequests: [counted],
    refusedRequests: [],
    importedMaterials: [],
    settings: [],
    trainedParameters: [],
  });
  expect(text).not.toMatch(/rmk_live_\w{9}/);
});

test('delete asks for the address, and removes nothing for another one or where nobody can be asked', async () => {
  const { email } = await newUser();
  await expect(run('delete', { email }, 'someone@example.com')).rejects.toMatchObject({
    message: 'That is another address. Nothing was deleted.',
  });
  await expect(run('delete', { email })).rejects.toMatchObject({
    message: 'There is no terminal to confirm on. Add --yes to delete.',
  });
  expect(JSON.parse(await run('list', { email }))).toHaveLength(1);
  expect(await run('delete', { email, json: false }, ` ${email.toUpperCase()}\n`)).toBe(
    `Deleted ${email}: 1 key, 1 material, 1 review, 0 snoozes, 0 reminders.\n`,
  );
  await expect(run('list', { email })).rejects.toMatchObject({ reason: 'NOT_FOUND' });
});

test.runIf(hasTerminal).each([
  ['Ctrl-C', '\u0003'],
  ['Ctrl-D', '\u0004'],
])('delete removes nothing where %s is pressed in place of the address, and says so', async (_name, key) => {
  const { email } = await newUser();
  const command = [process.execPath, ...argumentsOf('users'), 'delete', '--email', email].join(' ');
  const { accountsTarget, schedulingTarget } = system;
  const terminal = startOnTerminal(command, {
    ACCOUNTS_URL: accountsTarget,
    SCHEDULING_URL: schedulingTarget,
    REMINDERS: 'off',
  });
  await terminal.says((output) => output.includes('address to go on: ') || undefined);
  terminal.child.stdin?.write(key);
  expect(await terminal.ended).toBe(1);
  expect(terminal.output()).toMatch(/\r\ninvalid_request: No address was typed\. Nothing was deleted\.\r\n$/);
  expect(JSON.parse(await run('list', { email }))).toHaveLength(1);
});

test.each<[string, string, Partial<Options>, string, string | undefined]>([
  ['edit', 'without --email', {}, 'INVALID_REQUEST', undefined],
  ['edit', 'without a change', { email: 'a@example.com' }, 'INVALID_REQUEST', undefined],
  [
    'edit',
    'with an empty address',
    { email: 'a@example.com', 'new-email': '' },
    'INVALID_REQUEST',
    'new-email',
  ],
  ['edit', 'with another plan', { email: 'a@example.com', plan: 'gold' }, 'INVALID_REQUEST', 'plan'],
  ['export', 'of nobody', { email: 'nobody@example.com' }, 'NOT_FOUND', undefined],
  ['delete', 'of nobody', { email: 'nobody@example.com', yes: true }, 'NOT_FOUND', undefined],
])('%s %s is refused', async (name, _how, given, reason, field) => {
  await expect(run(name, given)).rejects.toMatchObject({ reason, ...(field !== undefined && { field }) });
});

const CALL = { requestId: 'test' };
let system: TestSystem;
let clients: Clients;

async function startAll(): Promise<void> {
  system = await startSystem();
  clients = createClients({ ...system, caller: 'users' });
}

async function stopAll(): Promise<void> {
  closeClients(clients);
  await system.stop();
}

async function textOf(output: Output | undefined): Promise<string> {
  if (output === undefined || typeof output === 'string') return output ?? '';
  let text = '';
  for await (const part of output) text += part;
  return text;
}
const run = async (name: string, options: Partial<Options>, typed?: string) =>
  textOf(await COMMANDS[name]?.run({ clients, ask: async () => typed }, [], { json: true, ...options }));
async function newUser() {
  const { userId, apiKeyId } = await system.createUser();
  const { material } = await clients.materials.createMaterial(
    { userId, title: 'Ohm’s law', type: 'MATERIAL_TYPE_SIMPLE' },
    CALL,
  );
  const materialId = material?.materialId ?? '';
  await clients.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
  const email = (await clients.users.getUser({ userId }, CALL)).user?.email ?? '';
  return { userId, apiKeyId, materialId, email };
}
