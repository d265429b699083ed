// Ends a gRPC server cleanly: its calls are let end, and no connection is waited for on which there is none.
import type { Http2Server, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Server } from '@grpc/grpc-js';

/** For what was answered last to be sent, and for clients to leave by themselves. */
const FAREWELL_MS = 500;
const CHECK_MS = 50;
/** Health and reflection, whose watchers never end by themselves. */
const NOT_WAITED_FOR = '/grpc.';

/**
 * By itself tryShutdown() waits for ever for connections that have said nothing yet, and for those whose clients do not
 * close their side. To be called once the server listens.
 *
 * @returns what takes no more calls, lets running ones end, and after `timeoutMs` cuts them off.
 */
export function watchConnections(server: Server): (timeoutMs: number) => Promise<void> {
  const sockets = new Set<Socket>();
  let atWork = 0;
  // The library keeps them to itself, and knows connections only as sessions.
  const { http2Servers } = server as unknown as { http2Servers: Map<Http2Server, unknown> };
  for (const http2Server of http2Servers.keys()) {
    http2Server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    http2Server.on('stream', (stream: ServerHttp2Stream, headers) => {
      if (headers[':path']?.startsWith(NOT_WAITED_FOR) === true) return;
      atWork += 1;
      stream.once('close', () => {
        atWork -= 1;
      });
    });
  }
  return async (timeoutMs) => {
    const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
    const beganMs = performance.now();
    let workedMs = beganMs;
    const timer = setInterval(() => {
      const nowMs = performance.now();
      if (atWork > 0) workedMs = nowMs;
      if (nowMs - workedMs < FAREWELL_MS && nowMs - beganMs < timeoutMs) return;
      for (const socket of sockets) socket.destroy();
    }, CHECK_MS);
    await closed;
    clearInterval(timer);
  };
}
