// A port of loopback that nobody listens on, for programs that have to be told theirs.
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Another program may take it before it is used. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
