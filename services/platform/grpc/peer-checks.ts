// Asks services for their health (grpc.health.v1): by itself, and as readiness checks of a program that calls them.
import type { MethodDefinition } from '@grpc/proto-loader';
import { service as untypedDefinition } from 'grpc-health-check';
import { bad, ok, warning } from '../checks.ts';
import { codeOf } from '../observability/readiness.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import type { GrpcTrust, Peers } from '../process/common-config.ts';
import { createGrpcClient } from './client.ts';
import { NO_TOKEN, TokenRefusedError } from './service-token.ts';

/** grpc.health.v1.Health; the package has no types for it. */
type HealthDefinition = { Check: MethodDefinition<{ service: string }, { status: string }> };
const definition = untypedDefinition as unknown as HealthDefinition;

/** Why a service cannot be used, and what to do. */
type PeerFault = {
  /** Without internal data. */
  reason: string;
  remedy: string;
  /** Where nothing answers in our protocol. */
  error?: unknown;
};

type HealthClient = {
  /** undefined if the service serves, and accepts our token. */
  fault(): Promise<PeerFault | undefined>;
  close(): void;
};

export function createHealthClient(options: {
  target: string;
  trust: GrpcTrust;
  deadlineMs: number;
}): HealthClient {
  const { serviceTokens } = options.trust;
  // Health checks only tokens that are sent, so a program without one sends a wrong one to find out if one is needed.
  const trust = { ...options.trust, serviceTokens: serviceTokens.length > 0 ? serviceTokens : [NO_TOKEN] };
  const client = createGrpcClient(definition, { ...options, trust, caller: 'health' });
  return {
    fault: () =>
      client.check({ service: '' }, { requestId: 'health' }).then(
        ({ status }) => (status === 'SERVING' ? undefined : NOT_SERVING),
        (error: unknown) => (error instanceof TokenRefusedError ? REFUSES_TOKEN : noAnswer(error)),
      ),
    close: () => client.close(),
  };
}

const NOT_SERVING: PeerFault = {
  reason: 'reports NOT_SERVING',
  remedy: 'it is shutting down, or its database is unavailable',
};
const REFUSES_TOKEN: PeerFault = {
  reason: 'refuses our SERVICE_TOKEN',
  remedy: 'give all programs the same SERVICE_TOKEN',
};
const noAnswer = (error: unknown): PeerFault => ({ reason: codeOf(error), remedy: 'start it', error });

const DEADLINE_MS = 900;

/**
 * Adds readiness checks that each peer reports SERVING and accepts our token. `part` is this program's name. It is degraded without
 * reminders, and not ready without another peer. Connects on the first check.
 * @returns a function that closes the connections.
 */
export function addPeerChecks(
  part: string,
  config: Peers & { remindersTarget?: string | undefined; trust: GrpcTrust },
  { readiness }: Telemetry,
): () => void {
  const { trust, schedulingTarget, accountsTarget, remindersTarget } = config;
  const peers = [
    { peer: 'scheduling', target: schedulingTarget, without: bad },
    { peer: 'accounts', target: accountsTarget, without: bad },
    { peer: 'reminders', target: remindersTarget, without: warning },
  ];
  const clients = peers.flatMap(({ peer, target, without }) => {
    if (target === undefined) return [];
    const client = createHealthClient({ target, trust, deadlineMs: DEADLINE_MS });
    readiness.add({
      name: `${part}/${peer}`,
      async run() {
        const fault = await client.fault();
        return fault === undefined ? ok(`serves at ${target}`) : without(fault.reason, fault.remedy);
      },
    });
    return client;
  });
  return () => {
    for (const client of clients) client.close();
  };
}
