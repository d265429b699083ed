// What every resolver gets beside its arguments: who asks, and the ways to the services behind.
import type { CallOptions } from '../services/platform/grpc-client.ts';
import type { Identity } from './access/tokens.ts';
import type { Clients } from './clients.ts';
import type { RequestedMutation } from './limits/requested-mutations.ts';
import type { Loaders } from './loaders.ts';

export type GatewayContext = {
  identity: Identity;
  /** Goes with every gRPC call: the request's id, and on whose behalf. */
  call: CallOptions;
  clients: Clients;
  /** Made anew for each request: what one caller read is never another's. */
  loaders: Loaders;
  /** Writes how a mutation came out to the audit. */
  settle(mutation: RequestedMutation, outcome: string): void;
};
