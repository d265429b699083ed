// A TCP connection's bad days, made to order between any two programs.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

/** Listens on a free port and passes everything on to `port`, until told otherwise. */
export async function startTcpProxy(port: number) {
  const pairs = new Set<{ client: Socket; upstream: Socket }>();
  let holding = false;
  let delayMs = 0;
  const pass = async (to: Socket, chunk: Buffer) => {
    if (delayMs > 0) await sleep(delayMs);
    if (!to.destroyed) to.write(chunk);
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    // Or Nagle's algorithm would add 40 ms that no network has.
    client.setNoDelay();
    upstream.setNoDelay();
    const pair = { client, upstream };
    pairs.add(pair);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      if (holding) from.pause();
      from.on('data', (chunk) => void pass(to, chunk));
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        to.destroy();
        pairs.delete(pair);
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const sockets = () => [...pairs].flatMap(({ client, upstream }) => [client, upstream]);
  return {
    target: `127.0.0.1:${address.port}`,
    port: address.port,
    /** Resets every connection; new ones work. */
    cut() {
      for (const socket of sockets()) socket.resetAndDestroy();
    },
    /** A black hole: connections stand, and nothing passes, in either direction, until `release`. */
    hold() {
      holding = true;
      for (const socket of sockets()) socket.pause();
    },
    release() {
      holding = false;
      for (const socket of sockets()) socket.resume();
    },
    /** Says to the server that the client has finished, on every connection. */
    halfClose() {
      for (const { upstream } of pairs) upstream.end();
    },
    /** Everything from now on arrives so much later; 0: at once. */
    delay(milliseconds: number) {
      delayMs = milliseconds;
    },
    async stop() {
      for (const socket of sockets()) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
