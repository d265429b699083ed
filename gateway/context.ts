// What every resolver gets beside its arguments: who asks, and the ways to the services behind.
import type { CallOptions } from '../services/platform/grpc-client.ts';
import type { Identity } from './access/tokens.ts';
import type { Clients } from './clients.ts';
import type { RequestBudget } from './limits/request-budget.ts';
import type { RequestedMutation } from './limits/requested-mutations.ts';
import type { SharedReads } from './shared-reads.ts';
import type { Views } from './views.ts';

export type GatewayContext = {
  identity: Identity;
  /** Goes with every gRPC call: the request's id, and on whose behalf. */
  call: CallOptions;
  clients: Clients;
  shared: SharedReads;
  /** Every call that only reads goes through it. What is changed is not held up by what is read. */
  budget: RequestBudget;
  /** How much of materials and reviews the request needs. */
  views: Views;
  /** Writes how a mutation came out to the audit. */
  settle(mutation: RequestedMutation, outcome: string): void;
};
