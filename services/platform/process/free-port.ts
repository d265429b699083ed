// The ports of TCP servers.
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** The port on which `server` listens. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return address.port;
}

/** A free loopback port, for programs that need a number. Another program can take it before it is used. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  server.close();
  await once(server, 'close');
  return port;
}
