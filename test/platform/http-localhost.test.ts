// Where HOST=localhost listens, on a machine on which this name has an address of IPv6, too.
import dns from 'node:dns';
import { isIP } from 'node:net';
import Fastify from 'fastify';
import { expect, test, vi } from 'vitest';
import { startHttp } from '../../services/platform/http/server.ts';

test('localhost is one address, so that each connection comes to the server that has our handlers', async () => {
  const lookup = (
    host: string,
    _options: object,
    done: (error: null, found: dns.LookupAddress[]) => void,
  ) => {
    const addresses = host === 'localhost' ? ['::1', '127.0.0.1'] : [host];
    done(
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    );
  };
  vi.spyOn(dns, 'lookup').mockImplementation(lookup as never);
  const app = Fastify();
  const { port, close } = await startHttp(async () => app, { host: 'localhost', port: 0 });
  expect(app.addresses()).toEqual([{ address: '127.0.0.1', family: 'IPv4', port }]);
  await close();
});
