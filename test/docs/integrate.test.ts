// Runs the programs of docs/integrate.md as a reader would, against a service that fails for a moment, and sends the requests of the
// Bruno collection.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENDPOINTS } from '../contract/spec.ts';
import { createApi, materialsOf } from '../support/api.ts';
import { OPERATOR, startTestGateway } from '../support/gateway.ts';
import { type Forwarder, startForwarder } from '../support/http-forwarder.ts';
import { root } from '../support/processes.ts';
import { hasPython, PYTHON } from '../support/python.ts';
import { startRemindersBeside } from '../support/reminders-beside.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

beforeAll(startAll);
afterAll(stopAll);

test('the page has the programs that are run here, and the two lines that set the address and the key', () => {
  expect(blocks.map(({ kind }) => kind)).toEqual(['sh', 'sh', 'js', 'python', 'graphql', 'mjs', 'py', 'go']);
  expect(blocks[0]?.text).toBe('export BASE_URL=http://127.0.0.1:8080/v1\nexport API_KEY=rmk_live_...\n');
});

const hasGrpc = hasPython(['grpc', 'google.protobuf'], 'python3-grpcio');

test.runIf(hasGrpc)('the gRPC client in Python lists what is due', async () => {
  const { userId, key } = await system.createUser();
  await createApi(`${system.origins[0]}/v1`, key).create({ title: 'Over gRPC' });
  const env = { PATH: process.env.PATH ?? '', SCHEDULING_URL: system.schedulingTarget, USER_ID: userId };
  const { stdout } = await run(PYTHON, ['-c', programOf('py')], { env, cwd: root });
  expect(stdout).toBe('Over gRPC\n');
});

test('the gRPC client in Go, which is not run, names what the protos have', () => {
  const proto =
    read('proto/scheduling/v1/material_service.proto') + read('proto/scheduling/v1/resources.proto');
  const bodyOf = (message: string) =>
    new RegExp(`^message ${message} \\{\n([\\s\\S]*?)^\\}`, 'm').exec(proto)?.[1] ?? '';
  const go = programOf('go');
  const [, request, field] = /&schedulingv1\.(\w+)\{(\w+):/.exec(go) ?? [];
  const [, service, rpc] = /schedulingv1\.New(\w+)Client\(connection\)\.(\w+)\(/.exec(go) ?? [];
  expect([request, field, service, rpc]).toEqual([
    'ListDueMaterialsRequest',
    'UserId',
    'MaterialService',
    'ListDueMaterials',
  ]);
  expect(proto).toMatch(/^service MaterialService \{/m);
  expect(proto).toContain(
    'rpc ListDueMaterials(ListDueMaterialsRequest) returns (ListDueMaterialsResponse);',
  );
  expect(bodyOf('ListDueMaterialsRequest')).toContain('string user_id = ');
  expect(go.match(/(?<=\.Get)[A-Z]\w+/g)).toEqual(['Materials', 'Title']);
  expect(bodyOf('ListDueMaterialsResponse')).toContain('repeated Material materials = ');
  expect(bodyOf('Material')).toContain('string title = ');
});

test('a sandbox user lives through the month of the page, over the public API, and is reminded twice', async () => {
  const { user } = await system.accounts.users.createUser({ email: 'month@example.com', sandbox: true });
  const { userId, key } = await system.createKey(user?.userId ?? '', [
    'materials:write',
    'reviews:read',
    'reviews:write',
  ]);
  const reminders = await startRemindersBeside(system);
  const gateway = await startTestGateway({ ...system, remindersTarget: reminders.target });
  const env = {
    PATH: process.env.PATH ?? '',
    BASE_URL: `${system.origins[0]}/v1`,
    API_KEY: key,
    USER_ID: userId,
    GRAPHQL_URL: `${gateway.origin}/graphql`,
    GATEWAY_TOKEN: OPERATOR,
  };
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', programOf('mjs')], { env });
  await gateway.stop();
  await reminders.stop();
  expect(stdout.trim().split('\n')).toEqual([
    'day 0: again in 1 days',
    'day 2: again in 6 days',
    'day 8: again in 15 days',
    'day 24: again in 38 days',
    'a mail: 1 due',
    'a mail: 1 due',
  ]);
});

const read = (file: string) => readFileSync(join(root, file), 'utf8');

const page = read('docs/integrate.md');

const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map(([, kind, text = '']) => ({
  kind,
  text,
}));

const programOf = (kind: string) => blocks.findLast((block) => block.kind === kind)?.text ?? '';

const PROGRAMS = [
  ['curl', 'bash', ['-euo', 'pipefail', '-c'], programOf('sh'), '"reason":"On the train"'],
  ['JavaScript', process.execPath, ['--input-type=module', '-e'], programOf('js'), '1 due, graded 4'],
  ['Python', PYTHON, ['-c'], programOf('python'), '1 due, graded 4'],
] as const;
const canRun = PROGRAMS.filter(([name]) => name !== 'Python' || hasPython([], 'python3'));

describe.each(canRun)('the program in %s', (name, command, options, program, output) => {
  const execute = async (key: string) => {
    const env = { PATH: process.env.PATH ?? '', BASE_URL: `${forwarder.origin}/v1`, API_KEY: key };
    return run(command, [...options, program], { env });
  };

  test('creates and reviews, and repeats under one key what fails or loses its response, after Retry-After', async () => {
    const { key } = await system.createUser();
    const unavailable = (retryAfter: string) =>
      ({ status: 503, headers: { 'retry-after': retryAfter }, body: '{}' }) as const;
    // curl waits until a date, and without end if it has passed.
    const late = name === 'curl' ? [] : [unavailable('Wed, 21 Oct 2015 07:28:00 GMT')];
    // Of the creation, of the list of what is due, and of the review.
    const faults = [unavailable('1'), 'lose', 'none', 'none', 'cut', ...late] as const;
    forwarder.fail(...faults);
    expect((await execute(key)).stdout).toContain(output);
    const [first, second] = forwarder.asked;
    expect([first?.method, first?.path]).toEqual(['POST', '/v1/materials']);
    expect(first?.idempotencyKey).toMatch(/^[0-9a-f-]{32,36}$/);
    expect(Number(second?.timeMs) - Number(first?.timeMs)).toBeGreaterThanOrEqual(999);
    const writes = forwarder.asked.filter(({ method }) => method === 'POST');
    const different = new Set(writes.map(({ path, idempotencyKey, body }) => path + idempotencyKey + body));
    const repeated = faults.filter((fault) => fault !== 'none');
    expect(different.size).toBe(writes.length - repeated.length);
    expect(new Set(writes.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(different.size);
    const api = createApi(`${system.origins[0]}/v1`, key);
    expect(materialsOf(await api.get('/materials')).map(({ repetitions }) => repetitions)).toEqual([1]);
  });

  // A client that follows makes a GET of the one, and sends the other again.
  test.each([302, 308])('does not follow a %i, and ends', async (status) => {
    const { key } = await system.createUser();
    forwarder.fail({ status, headers: { location: '/v1/materials' }, body: '{}' });
    await expect(execute(key)).rejects.toThrow();
    expect(forwarder.asked.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /v1/materials']);
  });

  test('does not repeat a refusal, and ends with it', async () => {
    const { key } = await system.createUser(['materials:read']);
    forwarder.fail();
    const failure = await execute(key).catch((error: { stderr: string; stdout: string }) => error);
    expect(`${failure.stderr}${failure.stdout}`).toMatch(/403/);
    expect(`${failure.stderr}${failure.stdout}`).not.toContain(key);
    expect(forwarder.asked.length).toBe(1);
  });
});

test('the program in curl prints each answer once, without the responses after which it asks again', async () => {
  const { key } = await system.createUser();
  const unavailable = { status: 503, headers: { 'retry-after': '1' }, body: '{"error":{}}' };
  // Of the creation, and of the list of what is due.
  forwarder.fail('none', unavailable, unavailable);
  const env = { PATH: process.env.PATH ?? '', BASE_URL: `${forwarder.origin}/v1`, API_KEY: key };
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', programOf('sh')], { env });
  const answers = stdout.trim().split('\n');
  expect(answers.map((answer) => Object.keys(JSON.parse(answer)))).toEqual([
    ['materials'],
    ['material', 'review'],
    ['snooze'],
  ]);
});

describe('the Bruno collection', () => {
  const files = globSync('docs/bruno/*.bru', { cwd: root }).filter(
    (file) => !file.endsWith('collection.bru'),
  );
  const requests = files
    .map((file) => {
      const text = read(file);
      const [, method = '', url = ''] = /^(get|post) \{\n {2}url: \{\{baseUrl\}\}(.*)$/m.exec(text) ?? [];
      const [, body] = /^body:json \{\n([\s\S]*?)\n\}$/m.exec(text) ?? [];
      const seq = Number(/^ {2}seq: (\d+)$/m.exec(text)?.[1]);
      return { file, method: method.toUpperCase(), url, body, seq };
    })
    .toSorted((a, b) => a.seq - b.seq);

  test('has one request for each endpoint', () => {
    const listed = requests.map(({ method, url }) => {
      const path = url.split('?')[0]?.replace('{{materialId}}', '{materialId}');
      return `${method} ${path}`;
    });
    expect(listed.toSorted()).toEqual(ENDPOINTS.map(({ method, path }) => `${method} ${path}`).toSorted());
  });

  test('succeeds in its order, and gives every write an Idempotency-Key', async () => {
    const { key } = await system.createUser();
    const api = createApi(`${system.origins[0]}/v1`, key);
    let materialId = '';
    for (const { file, method, url, body } of requests) {
      const headers = { 'idempotency-key': randomUUID() };
      const options = body === undefined ? {} : { json: JSON.parse(body), headers };
      const { status, body: answer } = await api.request(
        method,
        url.replace('{{materialId}}', materialId),
        options,
      );
      expect(status, file).toBeLessThan(300);
      if (read(file).includes('materialId: res.body.material.id'))
        materialId = (answer as { material: { id: string } }).material.id;
      expect(read(file).includes('Idempotency-Key: {{$randomUUID}}'), file).toBe(method === 'POST');
    }
  });
});

const run = promisify(execFile);

let system: TestSystem;
let forwarder: Forwarder;

async function startAll(): Promise<void> {
  system = await startSystem();
  forwarder = await startForwarder(system.origins[0] ?? '');
}

async function stopAll(): Promise<void> {
  await forwarder.stop();
  await system.stop();
}
