// Finds a free loopback port for programs that need a port number as input.
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Another program can take the port before it is used. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
