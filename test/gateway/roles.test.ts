// Who a caller is and what they may do, told by the token alone: from GATEWAY_TOKENS to the answer.
import { afterAll, describe, expect } from 'vitest';
import { startGateway } from '../../gateway/app.ts';
import { readGatewayConfig } from '../../gateway/config.ts';
import type { HttpServer } from '../../services/platform/http/server.ts';
import { type AuditEntry, createLogger } from '../../services/platform/logging/logger.ts';
import { readEnvironment } from '../../services/platform/process/config.ts';
import { type Given, test } from '../fixtures.ts';

test.beforeAll(startAll);
afterAll(() => gateway.close());

describe('a token', () => {
  test('is known whole: not by its beginning, not with more behind it, not in other letters', async () => {
    const token = LONG.slice(0, 31);
    expect(await who(`${token}b`)).toBe('short VIEWER');
    expect(await who(`${token}bc`)).toBe('long OPERATOR');
    for (const other of [token, `${token}bcd`, `${token}B`, `${token}c`, `${token}b `.repeat(2), '']) {
      expect(await who(other), other).toBe(401);
    }
  });

  test('has the role of its own entry, though another of that name has more', async () => {
    expect([await who(MORE), await who(LESS)]).toEqual(['ann OPERATOR', 'ann VIEWER']);
    const { userId } = await system.createUser();
    const query = `mutation { updateUser(input: {userId: "${userId}", firstName: "Ada"}) { user { firstName } } }`;
    expect((await ask(`Bearer ${LESS}`, query)).status).toBe(403);
    expect((await ask(`Bearer ${MORE}`, query)).data.updateUser.user).toEqual({ firstName: 'Ada' });
    expect(audited.map(({ caller, outcome }) => `${caller} ${outcome}`)).toEqual([
      'gateway/ann INSUFFICIENT_SCOPE',
      'gateway/ann ok',
    ]);
  });

  test('may hold colons, and stands among others with spaces around them', async () => {
    expect(await who(COLONS)).toBe('cal OPERATOR');
    expect([await who('x'.repeat(32)), await who('y'.repeat(32))]).toEqual([401, 401]);
    expect(await who(SPACED)).toBe('bob VIEWER');
  });

  test('is asked for where there is no header for it', async () => {
    const response = await fetch(`http://127.0.0.1:${gateway.port}/graphql`, { method: 'POST' });
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
    expect((await ask(header.replaceAll(/\bT\b|(?<=Bearer)T/g, SPACED))).status).toBe(status);
  });
});

let system: Given<'system'>['system'];
let gateway: HttpServer;
const audited: AuditEntry[] = [];

/** It begins with the token of another entry. */
const LONG = `${'a'.repeat(31)}bc`;
const [MORE, LESS, SPACED] = ['1'.repeat(32), '2'.repeat(32), 'z'.repeat(32)];
const COLONS = `${'x'.repeat(32)}:viewer:${'y'.repeat(32)}`;

async function startAll({ system: shared }: Given<'system'>): Promise<void> {
  system = shared;
  const entries = [`short:viewer:${LONG.slice(0, -1)}`, `long:operator:${LONG}`];
  entries.push(
    `ann:operator:${MORE}`,
    `ann:viewer:${LESS}`,
    ` cal:operator:${COLONS} `,
    `\tbob:viewer:${SPACED}`,
  );
  const environment = {
    GATEWAY_TOKENS: entries.join(),
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
  const response = await fetch(`http://127.0.0.1:${gateway.port}/graphql`, {
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
