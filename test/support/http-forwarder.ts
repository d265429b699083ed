// Stands between a client and a service over HTTP: keeps what was asked, and fails on order.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

export type Asked = {
  method: string;
  path: string;
  idempotencyKey: string | undefined;
  body: string;
  /** By the monotonic clock. */
  timeMs: number;
};
export type Forwarder = Awaited<ReturnType<typeof startForwarder>>;

/**
 * A response in place of the service's. 'lose', 'cut': the service does its work, and the connection breaks before the response, or
 * in the middle of its body. 'none': nothing fails.
 */
type Fault = { status: number; headers?: Record<string, string>; body?: string } | 'lose' | 'cut' | 'none';

/** Passes requests on to `origin` once `faults` are used up, the first request first. */
export async function startForwarder(origin: string) {
  const asked: Asked[] = [];
  let faults: Fault[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '', headers } = request;
    const body = await buffer(request);
    const key = headers['idempotency-key'];
    asked.push({
      method,
      path: url,
      idempotencyKey: typeof key === 'string' ? key : undefined,
      body: body.toString(),
      timeMs: performance.now(),
    });
    const fault = faults.shift();
    if (typeof fault === 'object') {
      response.writeHead(fault.status, fault.headers).end(fault.body ?? '');
      return;
    }
    const { host: _, connection: __, ...passed } = headers;
    const got = await fetch(origin + url, {
      method,
      headers: passed as Record<string, string>,
      ...(body.length > 0 && { body }),
    });
    const text = await got.text();
    if (fault === 'lose') request.socket.destroy();
    else if (fault === 'cut')
      response
        .writeHead(got.status, { 'content-length': Buffer.byteLength(text) })
        .write(text.slice(0, text.length / 2), () => request.socket.destroy());
    else response.writeHead(got.status, Object.fromEntries(got.headers)).end(text);
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    origin: `http://127.0.0.1:${port}`,
    /** Requests since the latest call of `fail`. */
    asked,
    /** The faults of the next requests. */
    fail(...next: Fault[]): void {
      faults = next;
      asked.length = 0;
    },
    async stop(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
