// What a program in front of the services adds to its readiness: each of them answers that it serves.
import type { GrpcTrust } from '../common-config.ts';
import { createHealthClient } from '../grpc-health.ts';
import type { Telemetry } from './telemetry.ts';

const DEADLINE_MS = 900;

/** `part` is the asking side's name. Connects when first asked. @returns what closes the connections. */
export function addPeerChecks(
  part: string,
  config: { schedulingTarget: string; accountsTarget: string; trust: GrpcTrust },
  { readiness }: Telemetry,
): () => void {
  const { trust, schedulingTarget, accountsTarget } = config;
  const clients = [['scheduling', schedulingTarget] as const, ['accounts', accountsTarget] as const].map(
    ([peer, target]) => {
      const client = createHealthClient({ target, trust, deadlineMs: DEADLINE_MS });
      readiness.add({
        name: `${part}/${peer}`,
        find: async () =>
          (await client.isServing()) ? { state: 'ok' } : { state: 'failed', reason: 'says NOT_SERVING' },
      });
      return client;
    },
  );
  return () => {
    for (const client of clients) client.close();
  };
}
