// What goes with every gRPC call that a request leads to: its id and its trace.
import type { FastifyRequest } from 'fastify';
import type { CallOptions } from '../platform/grpc-client.ts';
import { readTraceparent } from '../platform/trace-context.ts';

export function callOf({ id, headers }: FastifyRequest): CallOptions {
  return { requestId: id, traceparent: readTraceparent(headers.traceparent) };
}
