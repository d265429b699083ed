// Ports that a start wants: each that cannot be used is named by its variable, with what to do.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { freePort, requireFreePorts } from '../../services/platform/process/ports.ts';

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
  ['127.0.0.1', '0.0.0.0'],
  ['127.0.0.1', '::'],
])('one port on %s and on %s is given twice, and no other program is to be stopped', async (rest, ops) => {
  const port = await freePort();
  const wanted = [
    { name: 'REST_PORT', host: rest, port },
    { name: 'OPS_PORT', host: ops, port },
  ];
  await expect(requireFreePorts(wanted)).rejects.toMatchObject({ message: both(port) });
});

test.runIf(process.platform === 'linux')(
  'one port on two addresses, and any free port, is given once',
  async () => {
    const port = await freePort();
    await requireFreePorts([
      { name: 'REST_PORT', host: '127.0.0.1', port },
      { name: 'OPS_PORT', host: '127.0.0.2', port },
      { name: 'SCHEDULING_PORT', host: '0.0.0.0', port: 0 },
      { name: 'ACCOUNTS_PORT', host: '0.0.0.0', port: 0 },
    ]);
  },
);

test.each([
  ['linux', (port: number) => `ss -ltnp 'sport = :${port}'`],
  ['darwin', (port: number) => `lsof -nP -iTCP:${port} -sTCP:LISTEN`],
])('a port of another program is told with the way to find that on %s', async (platform, command) => {
  const { platform: ours } = process;
  const setPlatform = (value: string) => Object.defineProperty(process, 'platform', { value });
  onTestFinished(() => void setPlatform(ours));
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  setPlatform(platform);
  await expect(requireFreePorts([{ name: 'REST_PORT', host: '127.0.0.1', port }])).rejects.toThrow(
    `REST_PORT is ${port}: 127.0.0.1:${port} is in use by another program; stop it (${command(port)} shows it)`,
  );
});

test.each(['203.0.113.1', 'nowhere.invalid', 'fe80::1'])(
  '%s, at which nothing can listen, is told as such and not as a port of another program',
  async (host) => {
    await expect(requireFreePorts([{ name: 'REST_PORT', host, port: 20_000 }])).rejects.toThrow(
      `REST_PORT is 20000: ${host} is not an address of this machine; correct HOST`,
    );
  },
);

const both = (port: number) =>
  `The configuration is not usable:\n  - REST_PORT and OPS_PORT are both ${port}: set one of them to another port`;

test('a free port is none that an outgoing connection can take, and none that was given before', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, freePort));
  expect(new Set(ports).size).toBe(20);
  expect(ports.filter((port) => port < 20_000 || port >= 30_000)).toEqual([]);
});
