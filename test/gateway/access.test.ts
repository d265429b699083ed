// Who may use the gateway: tokens, the audit log, and what the program refuses to start with.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { pino } from 'pino';
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { startTestGateway, type TestGateway, VIEWER } from '../support/gateway.ts';
import { type Environment, startProcess } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';

test.beforeAll(takeServices);

describe('the gateway', () => {
  test.each([
    ['no token', {}],
    ['an unknown token', { authorization: `Bearer ${'x'.repeat(64)}` }],
    ['an empty token', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: `Basic ${VIEWER}` }],
    ['a token that begins like a known one', { authorization: `Bearer ${VIEWER.slice(0, -1)}` }],
  ])('answers 401 to %s, even for introspection and for what cannot be read', async (_name, headers) => {
    for (const body of ['{"query":"{ __schema { types { name } } }"}', '{"query":"{"}', 'x']) {
      const answer = await gateway.send(body, { authorization: '', ...headers });
      expect([answer.status, answer.errors?.[0]?.extensions.code]).toEqual([401, 'UNAUTHORIZED']);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  test('lets a viewer read, introspection too', async () => {
    const { data } = await gateway.query(
      '{ __schema { queryType { name } } users { nodes { id } } }',
      {},
      VIEWER,
    );
    expect(data).toEqual({ __schema: { queryType: { name: 'Query' } }, users: { nodes: expect.any(Array) } });
  });

  test('tells nothing of its insides when a service is away', async () => {
    const lines: string[] = [];
    // Nothing listens there.
    const orphan = await startTestGateway(
      { ...system, accountsTarget: '127.0.0.1:1' },
      pino({ level: 'warn' }, { write: (line) => lines.push(line) }),
    );
    const answer = await orphan.send('{"query":"{ users { nodes { id } } }"}', { 'x-request-id': 'away' });
    expect(answer.errors).toMatchObject([
      {
        message: 'The service cannot answer right now. Try again in a moment.',
        extensions: { code: 'UNAVAILABLE' },
      },
    ]);
    expect(JSON.stringify(answer.errors)).not.toMatch(/127\.0\.0\.1|ECONN|stack|\.ts/);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      msg: 'service not available',
      requestId: 'away',
      path: ['users'],
      err: { message: expect.stringContaining('UNAVAILABLE') },
    });
    await orphan.stop();
  });
});

describe('npm run gateway', () => {
  const start = (environment: Environment) =>
    startProcess(process.execPath, argumentsOf('gateway'), { env: { GRAPHQL_PORT: '0', ...environment } });

  test('audits with LOG_LEVEL=silent, without a key or a token in what it writes', async () => {
    const token = 't'.repeat(40);
    const program = start({
      LOG_LEVEL: 'silent',
      GATEWAY_TOKENS: `tom:operator:${token}`,
      SCHEDULING_URL: system.schedulingTarget,
      ACCOUNTS_URL: system.accountsTarget,
    });
    try {
      // Silent, it does not say which port it took: the kernel does.
      const port = await expect
        .poll(() => portOf(program.pid()))
        .toBeGreaterThan(0)
        .then(() => portOf(program.pid()));
      const { userId } = await system.createUser();
      const query = `mutation { createApiKey(input: {userId: "${userId}"}) { key } }`;
      const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query }),
      });
      const { data } = (await response.json()) as { data: { createApiKey: { key: string } } };
      await expect.poll(program.output).toContain('createApiKey');
      expect(JSON.parse(program.output().trim())).toMatchObject({
        audit: true,
        action: 'createApiKey',
        caller: 'gateway/tom',
        outcome: 'ok',
        userId,
      });
      expect(program.output()).not.toContain(data.createApiKey.key);
      expect(program.output()).not.toContain(token);
    } finally {
      expect(await program.end()).toBe(0);
    }
  });
});

let system: Given<'system'>['system'];
let gateway: TestGateway;

function takeServices({ system: shared, gateway: own }: Given<'system' | 'gateway'>): void {
  system = shared;
  gateway = own;
}

/** The TCP port on which a process listens; 0 while there is none. */
function portOf(pid: number): number {
  const files = `/proc/${pid}/fd`;
  const links = readdirSync(files).map((file) => {
    try {
      return readlinkSync(`${files}/${file}`);
    } catch {
      // Closed meanwhile.
      return '';
    }
  });
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const fields = line.trim().split(/\s+/);
    // State 0A: listening.
    if (fields[3] === '0A' && links.includes(`socket:[${fields[9]}]`))
      return Number.parseInt(fields[1]?.split(':')[1] ?? '0', 16);
  }
  return 0;
}
