// One gateway of several, wired as the program wires it.
import { randomBytes } from 'node:crypto';
import { parseToken } from '../../gateway/access/tokens.ts';
import { startGateway } from '../../gateway/app.ts';
import type { GatewayConfig } from '../../gateway/config.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';

export type GatewayReplica = Awaited<ReturnType<typeof startGatewayReplica>>;

export async function startGatewayReplica(config: Omit<GatewayConfig, 'tokens'>) {
  const token = randomBytes(32).toString('hex');
  const tokens = [parseToken(`rita:viewer:${token}`) ?? []].flat();
  const { port, close } = await startGateway({
    config: { ...config, tokens },
    logger: createLogger('test', 'silent'),
    audit: () => {},
  });
  return {
    close,
    /** The data of an answer without errors. */
    async query(query: string) {
      const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query }),
      });
      // biome-ignore lint/suspicious/noExplicitAny: the shape is that of each query
      const { data, errors } = (await response.json()) as { data: any; errors?: unknown };
      if (errors !== undefined) throw new Error(JSON.stringify(errors));
      return data;
    },
  };
}
