// Readiness checks of a program that calls services: each reports SERVING and accepts our token.
import type { Telemetry } from '../observability/telemetry.ts';
import type { GrpcTrust, Peers } from '../process/common-config.ts';
import { createHealthClient } from './health.ts';
import { TokenRefusedError } from './service-token.ts';

const DEADLINE_MS = 900;

/** `part` is this program's name. Connects on the first check. @returns a function that closes the connections. */
export function addPeerChecks(
  part: string,
  config: Peers & { trust: GrpcTrust },
  { readiness }: Telemetry,
): () => void {
  const { trust, schedulingTarget, accountsTarget } = config;
  const clients = [['scheduling', schedulingTarget] as const, ['accounts', accountsTarget] as const].map(
    ([peer, target]) => {
      const client = createHealthClient({ target, trust, deadlineMs: DEADLINE_MS });
      readiness.add({
        name: `${part}/${peer}`,
        find: () =>
          client.isServing().then(
            (isServing) => (isServing ? { state: 'ok' } : { state: 'failed', reason: 'reports NOT_SERVING' }),
            (error: unknown) => {
              if (!(error instanceof TokenRefusedError)) throw error;
              return { state: 'failed', reason: 'refuses our SERVICE_TOKEN' };
            },
          ),
      });
      return client;
    },
  );
  return () => {
    for (const client of clients) client.close();
  };
}
