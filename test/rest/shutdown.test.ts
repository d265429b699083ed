import { once } from 'node:events';
import { connect } from 'node:net';
import { setInterval as ticks } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { startFacade } from '../support/facade.ts';
import { newStubKey, startStubAccounts } from '../support/stub-services.ts';
import { startSystem } from '../support/system.ts';

beforeEach(prepareEach);
afterEach(cleanUp);

describe('a facade ends soon', () => {
  test.each([
    ['says nothing', ''],
    ['has sent half a head', 'GET /v1/me HTTP/1.1\r\nHost: x\r\n'],
    ['waits for its next request', 'GET /v1/me HTTP/1.1\r\nHost: x\r\n\r\n'],
    [
      'sends a body that nobody reads',
      'POST /v1/me HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    ],
  ])('though a connection %s', async (_what, bytes) => {
    const rest = await startFacade({ docs: true });
    const socket = connect(rest.port, '127.0.0.1');
    socket.on('error', () => {});
    const ended = once(socket, 'close');
    await once(socket, 'connect');
    socket.resume().write(bytes);
    // Connections are taken in their order: where this one is answered, that one is known.
    await (await fetch(`${rest.origin}/openapi.json`)).text();
    await rest.close();
    await ended;
  });
});

test('a facade ends soon though a client was refused and does not close its side', async () => {
  const rest = await startFacade();
  const sockets = await Promise.all(
    ['CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n', 'garbage\r\n\r\n'].map(async (bytes) => {
      const socket = connect({ port: rest.port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => {});
      socket.write(bytes);
      await once(socket.resume(), 'end');
      return socket;
    }),
  );
  // The clock stands: the seconds for which a body is waited for would never be over.
  await rest.close();
  for (const socket of sockets) socket.destroy();
});

describe('a facade that ends', () => {
  /** Not by expect.poll, which puts a false clock forward. */
  async function until(isMet: () => boolean | Promise<boolean>): Promise<void> {
    const endMs = Date.now() + PATIENCE_MS;
    while (!(await isMet())) {
      if (Date.now() > endMs) throw new Error('what is waited for does not come');
      await new Promise(setImmediate);
    }
  }
  const isRefused = (origin = '') =>
    fetch(`${origin}/openapi.json`).then(
      () => false,
      () => true,
    );

  /** It looks every 50 ms whether a connection is to be closed. */
  async function lookFourTimes(): Promise<void> {
    const looks = ticks(50);
    for (let look = 0; look < 4; look += 1) await looks.next();
    await looks.return?.();
  }

  test('answers what is at work when its end begins, closes that connection, and ends at once', async () => {
    // The deadline of what is at work does not pass.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const accounts = await startStubAccounts();
    const facade = await startFacade({ accountsTarget: accounts.target });
    const key = newStubKey();
    accounts.keys.set(key, { userId: 'u', apiKeyId: 'k' });
    accounts.hold(key);
    const waiting = fetch(`${facade.origin}/v1/me`, { headers: { authorization: `Bearer ${key}` } });
    await until(() => accounts.timesAsked(key) === 1);
    const ended = facade.close();
    await until(() => isRefused(facade.origin));
    await lookFourTimes();
    accounts.release(key);
    const { status, headers } = await waiting;
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
    await ended;
    await accounts.stop();
  });

  test('waits four seconds and no longer for the rest of a body', async () => {
    const here = await startSystem();
    const { key } = await here.createUser();
    const socket = connect(here.port, '127.0.0.1');
    const head = `POST /v1/materials HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
    const closed = once(socket, 'close');
    socket.resume().on('error', () => {});
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{`);
    await (await fetch(`${here.origins[0]}/openapi.json`)).text();
    const ended = here.stop();
    await expect.poll(() => isRefused(here.origins[0])).toBe(true);
    nowMs += 4000;
    await lookFourTimes();
    expect(socket.closed).toBe(false);
    nowMs += 1;
    await Promise.all([closed, ended]);
  });
});

const PATIENCE_MS = inject('patienceMs');

/** Of this process; the four seconds for which the rest of a body is waited for pass by the test's hand alone. */
let nowMs = 1_000_000;

function cleanUp(): void {
  vi.restoreAllMocks();
  vi.useRealTimers();
}

function prepareEach(): void {
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
}
