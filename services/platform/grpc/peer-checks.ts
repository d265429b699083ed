// Readiness checks of a program that calls services: each reports SERVING and accepts our token.
import { codeOf } from '../observability/readiness.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import type { GrpcTrust, Peers } from '../process/common-config.ts';
import { createHealthClient } from './health.ts';
import { TokenRefusedError } from './service-token.ts';

const DEADLINE_MS = 900;

/**
 * `part` is this program's name; without reminders it is degraded, without another peer not ready. Connects on the first check.
 * @returns a function that closes the connections.
 */
export function addPeerChecks(
  part: string,
  config: Peers & { remindersTarget?: string | undefined; trust: GrpcTrust },
  { readiness }: Telemetry,
): () => void {
  const { trust, schedulingTarget, accountsTarget, remindersTarget } = config;
  const peers = [
    { peer: 'scheduling', target: schedulingTarget, without: 'failed' },
    { peer: 'accounts', target: accountsTarget, without: 'failed' },
    { peer: 'reminders', target: remindersTarget, without: 'degraded' },
  ] as const;
  const clients = peers.flatMap(({ peer, target, without }) => {
    if (target === undefined) return [];
    const client = createHealthClient({ target, trust, deadlineMs: DEADLINE_MS });
    readiness.add({
      name: `${part}/${peer}`,
      find: () =>
        client.isServing().then(
          (isServing) => (isServing ? { state: 'ok' } : { state: without, reason: 'reports NOT_SERVING' }),
          (error: unknown) => {
            const isRefused = error instanceof TokenRefusedError;
            return { state: without, reason: isRefused ? 'refuses our SERVICE_TOKEN' : codeOf(error) };
          },
        ),
    });
    return client;
  });
  return () => {
    for (const client of clients) client.close();
  };
}
