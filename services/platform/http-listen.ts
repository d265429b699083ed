// Starts an HTTP application at its address, or ends it and says in plain words why that address cannot be had.
import type { FastifyInstance } from 'fastify';

/** @returns the port, also where `port` was 0. @throws Error with the address in its text, after `close`. */
export async function listenOrClose(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
  close: () => Promise<void>,
): Promise<number> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    await close();
    throw new Error(`cannot listen on ${host}:${port}: ${String(error)}`, { cause: error });
  }
  const address = app.server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}
