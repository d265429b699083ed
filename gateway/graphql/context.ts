// The context of every resolver: the caller, the clients and the request's limits.
import type { CallOptions } from '../../services/platform/grpc/client.ts';
import type { Refusal } from '../../services/platform/http/request-log.ts';
import type { Logger } from '../../services/platform/logging/logger.ts';
import type { Identity } from '../access/tokens.ts';
import type { Clients } from '../clients.ts';
import type { RequestBudget } from '../limits/request-budget.ts';
import type { RequestedMutation } from '../limits/requested-mutations.ts';
import type { Loaders } from '../loaders.ts';
import type { Views } from '../reads/views.ts';

export type GatewayContext = {
  identity: Identity;
  /** Options of every gRPC call: the request ID and the caller. */
  call: CallOptions;
  /** When the request began: what statistics take for now, so that those of one request agree. */
  beginTime: Date;
  clients: Clients;
  loaders: Loaders;
  /** All reads go through it; mutations do not, so that reads cannot delay them. */
  budget: RequestBudget;
  /** The views of materials and reviews that the request needs. */
  views: Views;
  /** Notes in the request's log line why it, or a part of it, was refused. */
  refused(refusal: Refusal): void;
  /** Records a mutation that succeeded for the user's timeline. */
  record(mutation: Pick<RequestedMutation, 'action' | 'targets'>): Promise<void>;
  logger: Logger;
  /** Writes the outcome of a mutation to the audit log. */
  settle(mutation: RequestedMutation, outcome: string): void;
};
