// The service configuration of a client: calls go round-robin, and a read whose replica dies is sent once more, to another one.
import type { ServiceDefinition } from '@grpc/grpc-js';

/** What grpc-js says of a call that is cut. */
export const RETRIED = ['UNAVAILABLE', 'INTERNAL'] as const;
/** Rpcs without an effect that matters twice. */
const READ = /\/(Count|Get|List|Find|Search|Preview|Verify|BatchGet|BatchList)/;

/**
 * Retries only what the transport reports: our servers mark their own failures of these codes with NO_RETRY. After several
 * failures in a row, nothing is retried until enough calls have succeeded.
 */
export function serviceConfigOf(definition: ServiceDefinition): string {
  const name = Object.values(definition)
    .filter(({ path, responseStream }) => READ.test(path) && !responseStream)
    .map(({ path }) => {
      const [, service, method] = path.split('/');
      return { service, method };
    });
  const retryPolicy = {
    maxAttempts: 2,
    initialBackoff: '0.02s',
    maxBackoff: '0.02s',
    backoffMultiplier: 1,
    retryableStatusCodes: RETRIED,
  };
  return JSON.stringify({
    loadBalancingConfig: [{ round_robin: {} }],
    methodConfig: [{ name, retryPolicy }],
    retryThrottling: { maxTokens: 20, tokenRatio: 0.1 },
  });
}

/** Trailer that tells clients not to retry: another replica would have the same answer. */
export const NO_RETRY = ['grpc-retry-pushback-ms', '-1'] as const;
