// A TCP connection's bad days, made to order between any two programs.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

/** Listens on a free port and passes everything on to `upstreamPort`, until told otherwise. */
export async function startTcpProxy(upstreamPort: number) {
  const pairs = new Set<{ client: Socket; upstream: Socket }>();
  let target = upstreamPort;
  let holding = false;
  let delayMs = 0;
  /** One after the other, the end included, also where the delay has just become shorter. */
  const pipe = (from: Socket, to: Socket) => {
    let last = Promise.resolve();
    const pass = (on: (to: Socket) => void) => {
      const arrival = performance.now() + delayMs;
      last = last.then(async () => {
        const leftMs = arrival - performance.now();
        if (leftMs > 0) await sleep(leftMs);
        if (!to.destroyed) on(to);
      });
    };
    from.on('data', (chunk) => pass((socket) => socket.write(chunk)));
    from.on('end', () => pass((socket) => socket.end()));
    from.on('error', () => to.destroy());
    from.on('close', () => pass((socket) => socket.destroySoon()));
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
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
      pipe(from, to);
      from.on('close', () => pairs.delete(pair));
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const { port } = address;
  const sockets = () => [...pairs].flatMap(({ client, upstream }) => [client, upstream]);
  const shut = async () => {
    for (const socket of sockets()) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return {
    target: `127.0.0.1:${port}`,
    port,
    /** Resets every connection; new ones work. */
    cut() {
      for (const socket of sockets()) socket.resetAndDestroy();
    },
    /** A black hole: connections stand, and nothing passes, in either direction, until `release`. */
    hold() {
      holding = true;
      for (const socket of sockets()) socket.pause();
    },
    /** The same for the connections that stand now; new ones work. */
    holdStanding() {
      for (const socket of sockets()) socket.pause();
    },
    /** The same for new ones; the connections that stand now work. */
    holdNew() {
      holding = true;
    },
    release() {
      holding = false;
      for (const socket of sockets()) socket.resume();
    },
    /** New connections lead to whatever listens on `newTarget`; those that stand now stay where they are. */
    redirect(newTarget: number) {
      target = newTarget;
    },
    /** Says to the server that the client has finished, on every connection. */
    halfClose() {
      for (const { upstream } of pairs) upstream.end();
    },
    /** Everything from now on arrives so much later; 0: at once. */
    delay(milliseconds: number) {
      delayMs = milliseconds;
    },
    /** Nobody listens any more: connections are refused, until `open`. */
    shut,
    /** Listens again on the same port, before whatever listens on `newTarget` now. */
    async open(newTarget = target) {
      target = newTarget;
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    stop: shut,
  };
}
