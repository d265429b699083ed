// What an operator sees of accounts and of a facade while PostgreSQL sends accounts no revocations: keys are asked for each time,
// which is no reason to take either out of service.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';
import { type ServiceProcess, startService } from '../support/services.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

beforeAll(startAll);
afterAll(stopAll);

test('both stay ready without revocations, say so, and are sound again once these come', async () => {
  await expectSound();
  await sessions.shut();
  await expect
    .poll(() => ready(accounts))
    .toEqual([200, 'accounts/revocations: no revocation stream: rest checks every key with accounts']);
  await expect
    .poll(() => ready(rest))
    .toEqual([200, 'rest/revocations: no revocation stream: every key is checked with accounts']);
  await expect
    .poll(told)
    .toEqual(['srs_revocation_stream_up 0', 'srs_ready 1', 'srs_check_ok{check="rest/revocations"} 0']);
  await sessions.open();
  await expectSound();
});

test('a facade whose scheduling is gone tells monitoring that it is not ready', async () => {
  await scheduling?.stop();
  await expect.poll(told).toContain('srs_ready 0');
});

let database: TestDatabase;
/** The way on which accounts listens; its statements take another one. */
let sessions: TcpProxy;
let [accounts, scheduling, rest]: ServiceProcess[] = [];

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  sessions = await startTcpProxy(Number(new URL(database.databaseUrl).port));
  const sessionUrl = Object.assign(new URL(database.databaseUrl), { host: sessions.target });
  const common = { DATABASE_URL: database.databaseUrl, OPS_PORT: '0' };
  [accounts, scheduling] = await Promise.all([
    startService('accounts', {
      ...common,
      DATABASE_SESSION_URL: sessionUrl.href,
      KEY_PEPPER: `1:${'p'.repeat(32)}`,
    }),
    startService('scheduling', common),
  ]);
  rest = await startService('rest', {
    OPS_PORT: '0',
    ACCOUNTS_URL: accounts.target,
    SCHEDULING_URL: scheduling.target,
  });
}

async function stopAll(): Promise<void> {
  await Promise.all([rest, scheduling, accounts].map((program) => program?.stop()));
  await sessions.stop();
  await database.drop();
}

const ready = async (program: ServiceProcess | undefined) => {
  const answer = await fetch(`${program?.ops}/ready`);
  return [answer.status, ...((await answer.json()) as { reasons: string[] }).reasons];
};
const told = async () => {
  const text = await (await fetch(`${rest?.ops}/metrics`)).text();
  return text.match(/^srs_(ready|revocation_stream_up|check_ok\{check="rest\/revocations"\}) .*$/gm);
};
const expectSound = async () => {
  await expect.poll(() => ready(accounts)).toEqual([200]);
  await expect.poll(() => ready(rest)).toEqual([200]);
  await expect
    .poll(told)
    .toEqual(['srs_revocation_stream_up 1', 'srs_ready 1', 'srs_check_ok{check="rest/revocations"} 1']);
};
