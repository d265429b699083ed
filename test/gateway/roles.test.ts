// Who a caller is and what they may do, told by the token alone: from GATEWAY_TOKENS to the answer.
import { afterEach, describe, expect } from 'vitest';
import { startGateway } from '../../gateway/app.ts';
import { readGatewayConfig } from '../../gateway/config.ts';
import type { HttpServer } from '../../services/platform/http/server.ts';
import { type AuditEntry, createLogger } from '../../services/platform/logging/logger.ts';
import { readEnvironment } from '../../services/platform/process/config.ts';
import { type Given, test } from '../fixtures.ts';

test.beforeAll(takeServices);
afterEach(cleanUp);

describe('a token', () => {
  test('is known whole: not by its beginning, not with more behind it, not in other letters', async () => {
    const token = 'a'.repeat(31);
    await start(`short:viewer:${token}b,long:operator:${token}bc`);
    expect(await who(`${token}b`)).toBe('short VIEWER');
    expect(await who(`${token}bc`)).toBe('long OPERATOR');
    for (const other of [token, `${token}bcd`, `${token}B`, `${token}c`, `${token}b `.repeat(2), '']) {
      expect(await who(other), other).toBe(401);
    }
  });

  test('has the role of its own entry, though another of that name has more', async () => {
    const [first, second] = ['1'.repeat(32), '2'.repeat(32)];
    await start(`ann:operator:${first},ann:viewer:${second}`);
    expect([await who(first), await who(second)]).toEqual(['ann OPERATOR', 'ann VIEWER']);
    const { userId } = await system.createUser();
    const query = `mutation { updateUser(input: {userId: "${userId}", firstName: "Ada"}) { user { firstName } } }`;
    expect((await ask(`Bearer ${second}`, query)).status).toBe(403);
    expect((await ask(`Bearer ${first}`, query)).data.updateUser.user).toEqual({ firstName: 'Ada' });
    expect(audited.map(({ caller, outcome }) => `${caller} ${outcome}`)).toEqual([
      'gateway/ann INSUFFICIENT_SCOPE',
      'gateway/ann ok',
    ]);
  });

  test('may hold colons, and stands among others with spaces around them', async () => {
    const token = `${'x'.repeat(32)}:viewer:${'y'.repeat(32)}`;
    await start(` ann:operator:${token} ,\tbob:viewer:${'z'.repeat(32)}`);
    expect(await who(token)).toBe('ann OPERATOR');
    expect([await who('x'.repeat(32)), await who('y'.repeat(32))]).toEqual([401, 401]);
    expect(await who('z'.repeat(32))).toBe('bob VIEWER');
  });

  test('is asked for where there is no header for it', async () => {
    await start(`ann:viewer:${'t'.repeat(32)}`);
    const response = await fetch(`http://127.0.0.1:${gateway?.port}/graphql`, { method: 'POST' });
    expect(response.status).toBe(401);
  });

  test.each([
    ['bearer T', 200],
    ['BEARER   T', 200],
    [' Bearer T ', 200],
    ['T', 401],
    ['BearerT', 401],
    ['Token T', 401],
    ['Basic Bearer T', 401],
    ['Bearer T T', 401],
    ['Bearer "T"', 401],
  ])('is taken from "Authorization: %s": %i', async (header, status) => {
    const token = 't'.repeat(32);
    await start(`ann:viewer:${token}`);
    expect((await ask(header.replaceAll('T', token).replace(`${token}oken`, 'Token'))).status).toBe(status);
  });
});

let system: Given<'system'>['system'];
let gateway: HttpServer | undefined;
const audited: AuditEntry[] = [];

async function takeServices({ system: shared }: Given<'system'>): Promise<void> {
  system = shared;
}

async function cleanUp(): Promise<void> {
  await gateway?.close();
  gateway = undefined;
  audited.length = 0;
}

async function start(tokens: string): Promise<void> {
  const environment = {
    GATEWAY_TOKENS: tokens,
    GRAPHQL_PORT: '0',
    SCHEDULING_URL: system.schedulingTarget,
    ACCOUNTS_URL: system.accountsTarget,
    LOG_LEVEL: 'silent',
  };
  gateway = await startGateway({
    config: readEnvironment(environment, readGatewayConfig),
    logger: createLogger('test', 'silent'),
    audit: (entry) => void audited.push(entry),
  });
}

async function ask(authorization: string, query = '{ caller { name role } }') {
  const response = await fetch(`http://127.0.0.1:${gateway?.port}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify({ query }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: the shape is that of each query
  const { data } = (await response.json()) as { data?: any };
  return { status: response.status, data };
}

/** Name and role of who holds the token, or the status with which it is refused. */
async function who(token: string): Promise<string | number> {
  const { status, data } = await ask(`Bearer ${token}`);
  return data === undefined ? status : `${data.caller.name} ${data.caller.role}`;
}
