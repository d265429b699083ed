// Shuts a gRPC server down gracefully: completes running calls, and does not wait for idle connections.
import type { Http2Server, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Server } from '@grpc/grpc-js';

/** Time to flush the last responses, and for clients to disconnect. */
const DRAIN_MS = 500;
const CHECK_MS = 50;
/** Health and reflection, whose streams never end by themselves. */
const IGNORED_PREFIX = '/grpc.';

/**
 * grpc-js's tryShutdown() waits without limit for connections that have sent nothing, and for clients that do not close their
 * side. Call this after the server listens.
 *
 * @returns a function that stops accepting calls, waits for running ones, and aborts them after `timeoutMs`.
 */
export function watchConnections(server: Server): (timeoutMs: number) => Promise<void> {
  const sockets = new Set<Socket>();
  let inProgress = 0;
  // grpc-js keeps its HTTP/2 servers private and exposes no sockets.
  const { http2Servers } = server as unknown as { http2Servers: Map<Http2Server, unknown> };
  for (const http2Server of http2Servers.keys()) {
    http2Server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    http2Server.on('stream', (stream: ServerHttp2Stream, headers) => {
      if (headers[':path']?.startsWith(IGNORED_PREFIX) === true) return;
      inProgress += 1;
      stream.once('close', () => {
        inProgress -= 1;
      });
    });
  }
  return async (timeoutMs) => {
    const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
    const beganMs = performance.now();
    let workedMs = beganMs;
    const timer = setInterval(() => {
      const nowMs = performance.now();
      if (inProgress > 0) workedMs = nowMs;
      if (nowMs - workedMs < DRAIN_MS && nowMs - beganMs < timeoutMs) return;
      for (const socket of sockets) socket.destroy();
    }, CHECK_MS);
    await closed;
    clearInterval(timer);
  };
}
