// What a program does that is told to end: by each signal, by two of them, and where it cannot.
import { expect, test } from 'vitest';
import { type Environment, startProcess } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s ends it regularly, with exit code 0',
  async (name) => {
    const facade = await startFacade('');
    expect(await facade.end(name)).toBe(0);
  },
);

test('two signals at once, as by Ctrl-C under npm, are one', async () => {
  const facade = await startFacade('');
  facade.signal('SIGINT');
  expect(await facade.end('SIGTERM')).toBe(0);
});

test('a signal more than a second after the first ends it at once, with exit code 1', async () => {
  const facade = await startFacade(HANG + TIME_PASSES, { SHUTDOWN_TIMEOUT_MS: '600000' });
  facade.signal('SIGTERM');
  await facade.says('closing');
  facade.signal('SIGUSR2');
  await facade.says('time has passed');
  expect(await facade.end('SIGINT')).toBe(1);
});

test('what takes longer than SHUTDOWN_TIMEOUT_MS to end says so, and ends with exit code 1', async () => {
  const facade = await startFacade(HANG, { SHUTDOWN_TIMEOUT_MS: '500' });
  expect(await facade.end()).toBe(1);
  expect(facade.output()).toContain('The shutdown took longer than 500 ms; exiting now.\n');
});

test('two signals at once are one to a command that finishes what it has begun, and one more than a second later ends it, with exit code 130', async () => {
  const command = startProcess(process.execPath, ['--input-type=module', '--eval', UNFINISHED + TIME_PASSES]);
  const says = (text: string) => command.says((output) => output.includes(text) || undefined);
  await says('begun');
  // Of two kinds, since two of one can arrive as one. The command tells of the second.
  command.signal('SIGHUP');
  command.signal('SIGINT');
  await says('told to end: true');
  command.signal('SIGUSR2');
  await says('time has passed');
  expect(await command.end('SIGINT')).toBe(130);
});

/** Whatever waits for a server to close waits for ever. */
const HANG = `
  import { Server } from 'node:net';
  Server.prototype.close = () => { console.log('closing'); };`;

/** A second and a millisecond pass at once when it gets SIGUSR2. */
const TIME_PASSES = `
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  performance.now = () => now() + aheadMs;
  process.on('SIGUSR2', () => { aheadMs += 1001; console.log('time has passed'); });`;

/** As npm run import while a service does not answer. */
const UNFINISHED = `
  import { stopOnSignals } from './services/programs/signals.ts';
  const stop = stopOnSignals();
  stop.wait();
  process.on('SIGINT', () => console.log('told to end: ' + stop.isAsked()));
  setInterval(() => {}, 1000);
  console.log('begun');`;

/** A facade that is ready, and that has run `before` first. */
async function startFacade(before: string, env: Environment = {}) {
  const preload = `data:text/javascript,${encodeURIComponent(before)}`;
  const facade = startProcess(process.execPath, ['--import', preload, ...argumentsOf('rest')], {
    env: { REST_PORT: '0', ACCOUNTS_URL: '127.0.0.1:1', SCHEDULING_URL: '127.0.0.1:1', ...env },
  });
  const says = (text: string) => facade.says((output) => output.includes(text) || undefined);
  await says('rest is ready');
  return { ...facade, says };
}
