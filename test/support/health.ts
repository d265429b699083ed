// Watches a gRPC service's health as a load balancer would, by one stream that never ends by itself.
import { Client, credentials } from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';
import { service } from 'grpc-health-check';

/** grpc.health.v1.Health, of which the package tells no types. */
const { Watch } = service as unknown as { Watch: MethodDefinition<{ service: string }, { status: string }> };

/** `statuses`: what has been told so far, one after the other. */
export function watchHealth(target: string) {
  const client = new Client(target, credentials.createInsecure());
  const statuses: string[] = [];
  const { path, requestSerialize, responseDeserialize } = Watch;
  const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service: '' });
  stream.on('data', ({ status }: { status: string }) => statuses.push(status));
  stream.on('error', () => {});
  const ended = new Promise<void>((resolve) => stream.on('status', () => resolve()));
  return {
    statuses,
    /** Once the service tells no more. */
    ended,
    stop() {
      stream.cancel();
      client.close();
    },
  };
}
