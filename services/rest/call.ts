// The options of the gRPC calls of a request: its ID and its trace.
import type { FastifyRequest } from 'fastify';
import type { CallOptions } from '../platform/grpc/client.ts';
import { readTraceparent } from '../platform/observability/tracing.ts';

export function callOf({ id, headers }: FastifyRequest): CallOptions {
  return { requestId: id, traceparent: readTraceparent(headers.traceparent) };
}
