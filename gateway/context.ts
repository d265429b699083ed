// The context of every resolver: the caller, the clients and what the request may use.
import type { CallOptions } from '../services/platform/grpc/client.ts';
import type { Refusal } from '../services/platform/http/request-log.ts';
import type { Logger } from '../services/platform/logging/logger.ts';
import type { Identity } from './access/tokens.ts';
import type { Budget } from './budget.ts';
import type { Clients } from './clients.ts';
import type { Loaders } from './loaders.ts';

/** IDs of what a mutation is about, by the names of its input's fields. */
export type Targets = Record<string, string | readonly string[]>;

export type GatewayContext = {
  identity: Identity;
  /** Options of every gRPC call: the request ID and the caller. */
  call: CallOptions;
  /** When the request began: what statistics take for now, so that those of one request agree. */
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
  record(action: string, targets: Targets): Promise<void>;
  logger: Logger;
  /** Writes the outcome of a mutation to the audit log. */
  audit(action: string, outcome: string, targets: Targets): void;
};
