// What a program says on a Node that is too old: the way to a newer one, which differs between Linux and a Mac.
import { expect, test } from 'vitest';
import { startProcess } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';

test.each([
  ['linux', '"npm ci" has installed a Node 24 that npm scripts use.\nIf npm left out optional packages, run'],
  ['darwin', 'Install Node 24 or newer, for example from https://nodejs.org.'],
])('on %s, an old Node is refused with what helps there', async (platform, said) => {
  const preload = `data:text/javascript,${encodeURIComponent(oldNode(platform))}`;
  const program = startProcess(process.execPath, ['--import', preload, ...argumentsOf('doctor'), '--help']);
  expect(await program.ended).toBe(1);
  expect(program.output()).toMatch(/^This project runs on Node 24 or newer; this is v22\.1\.0 \(.*\)\.\n/);
  expect(program.output()).toContain(said);
});

const oldNode = (platform: string) => `
  const set = (name, value) => Object.defineProperty(process, name, { value });
  set('versions', { ...process.versions, node: '22.1.0' });
  set('version', 'v22.1.0');
  set('platform', '${platform}');`;
