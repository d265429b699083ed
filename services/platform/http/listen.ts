// Starts an HTTP application on its address, or says why it cannot listen there.
import type { FastifyInstance } from 'fastify';
import { portOf } from '../process/ports.ts';

export type HttpServer = {
  /** The actual port, also for port 0. */
  port: number;
  close(): Promise<void>;
};

/**
 * Builds an application, and listens. `closeParts` closes what it depends on, after it has closed or failed to start.
 * @throws Error that names the address if it cannot listen there.
 */
export async function startHttp(
  build: () => Promise<FastifyInstance>,
  { host, port }: { host: string; port: number },
  closeParts = () => {},
): Promise<HttpServer> {
  let app: FastifyInstance | undefined;
  const close = async () => {
    await app?.close();
    closeParts();
  };
  try {
    app = await build();
    await app.listen({ host, port }).catch((error: unknown) => {
      throw new Error(`cannot listen on ${host}:${port}: ${String(error)}`, { cause: error });
    });
    return { port: portOf(app.server), close };
  } catch (error) {
    await close();
    throw error;
  }
}
