// Starts an HTTP application on its address, or closes it and reports why it cannot listen there.
import type { FastifyInstance } from 'fastify';

/** `build` creates the application. If it fails, `close` closes the dependencies. */
export async function buildOrClose<T>(build: () => Promise<T>, close: () => void): Promise<T> {
  try {
    return await build();
  } catch (error) {
    close();
    throw error;
  }
}

/** @returns the actual port, also for `port` 0. @throws Error that names the address, after `close`. */
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
