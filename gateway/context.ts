// The context of every resolver: the caller, the clients and what the request may use.
import type { FastifyRequest } from 'fastify';
import type { CallOptions } from '../services/platform/grpc/client.ts';
import { markRefused, type Refusal } from '../services/platform/http/request-log.ts';
import type { Logger } from '../services/platform/logging/logger.ts';
import { readTraceparent } from '../services/platform/observability/tracing.ts';
import { isSandboxUser } from '../services/platform/uuid.ts';
import type { Identity } from './access/tokens.ts';
import { type Budget, createBudget, createCallerLimits, LIMITS } from './budget.ts';
import type { Clients } from './clients.ts';
import { createLoaders, type Loaders } from './loaders.ts';

/** IDs of what a mutation is about, by the names of its input's fields. */
export type Targets = Record<string, string | readonly string[]>;

export type GatewayContext = {
  identity: Identity;
  /** Options of every gRPC call: the request ID and the caller. */
  call: CallOptions;
  /** When the request began. */
  beginTime: Date;
  clients: Clients;
  /** All reads go through it; mutations do not, so that reads cannot delay them. */
  budget: Budget;
  /** Replaced after each mutation. */
  loaders: Loaders;
  /** How many have begun. */
  mutations: number;
  /** Says in the request's log line why it, or a part of it, was refused. */
  refused(refusal: Refusal): void;
  /** Records a mutation that succeeded for the user's timeline. */
  record(action: string, targets: Targets, fields?: readonly string[]): Promise<void>;
  logger: Logger;
  /** Writes the outcome of a mutation to the audit log. */
  audit(action: string, outcome: string, targets: Targets): void;
};

/**
 * What recall and statistics take for now: when the request began, so that all of a query agree. null: the time of scheduling, which
 * alone knows the clock of a sandbox user, and in a mutation does not come before the review that it made.
 */
export function nowFor({ beginTime, mutations }: GatewayContext, userId: string): Date | null {
  return mutations > 0 || isSandboxUser(userId) ? null : beginTime;
}

/** The returned function makes the context of a request. */
export function createContextOf(parts: {
  clients: Clients;
  logger: Logger;
  recordEvent: (
    action: string,
    targets: Targets,
    call: CallOptions,
    fields?: readonly string[],
  ) => Promise<void>;
  writeAudit: (request: FastifyRequest, action: string, outcome: string, targets: Targets) => void;
}) {
  const { clients, logger, recordEvent, writeAudit } = parts;
  const limits = createCallerLimits();
  return (request: FastifyRequest): GatewayContext => {
    const identity = request.identity ?? { name: 'nobody', role: 'viewer' };
    const call = {
      requestId: request.id,
      traceparent: readTraceparent(request.headers.traceparent),
      caller: callerOf(request),
    };
    const budget = createBudget({
      call,
      caller: identity.name,
      limits,
      isAbandoned: () => request.raw.socket.destroyed,
      // A mutation always returns its result, even after the time limit.
      endMs: request.operation?.operation === 'query' ? performance.now() + LIMITS.queryMs : Infinity,
    });
    return {
      identity,
      call,
      beginTime: new Date(),
      clients,
      budget,
      loaders: createLoaders(clients, budget),
      mutations: 0,
      refused: (refusal) => markRefused(request, refusal),
      record: (action, targets, fields) => recordEvent(action, targets, call, fields),
      logger,
      audit: (action, outcome, targets) => writeAudit(request, action, outcome, targets),
    };
  };
}

export function callerOf({ identity }: FastifyRequest): string {
  return `gateway/${identity?.name}`;
}
