// What a container's health check takes for alive.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { freePort } from '../../services/platform/process/free-port.ts';
import { startProcess } from '../support/processes.ts';
import { startFacade, startStubAccounts } from '../support/stub-services.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Resolves to its exit code. */
const check = (name: string, env: Record<string, string>) =>
  startProcess(process.execPath, ['services/programs/healthcheck.ts', name], { env }).ended;

describe.each([
  ['rest', 'REST_PORT'],
  ['gateway', 'GRAPHQL_PORT'],
])('the health check of %s', (name, variable) => {
  test.each([
    [503, 0],
    [404, 0],
    [200, 0],
    [500, 1],
  ])('of one that answers %i exits %i', async (status, code) => {
    const server = createServer((_request, response) => response.writeHead(status).end());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    closers.push(() => server.close());
    expect(await check(name, { [variable]: `${(server.address() as AddressInfo).port}` })).toBe(code);
  });

  test('exits 1 where nothing listens', async () => {
    expect(await check(name, { [variable]: `${await freePort()}` })).toBe(1);
  });
});

test('a facade without the services behind it is alive', async () => {
  const accounts = await startStubAccounts();
  const facade = await startFacade({ accountsTarget: accounts.target });
  closers.push(facade.close);
  await accounts.stop();
  expect(await check('rest', { REST_PORT: `${facade.port}` })).toBe(0);
});
