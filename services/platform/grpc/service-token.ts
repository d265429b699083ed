// The service token, which a server checks.
import { createHash, timingSafeEqual } from 'node:crypto';
import { Metadata, ServerInterceptingCall, type ServerInterceptor, status } from '@grpc/grpc-js';
import { ServiceError } from '../errors.ts';
import { createRefusalLog, type Logger } from '../logging/logger.ts';
import { rpcName } from '../observability/observe.ts';
import { loggable } from '../redaction.ts';

const HEALTH = '/grpc.health.v1.Health/';
/** Has no google.rpc.ErrorInfo, which distinguishes it from UNAUTHORIZED for a user's key. */
const REFUSAL = {
  code: status.UNAUTHENTICATED,
  details: 'A service token is required.',
  metadata: new Metadata(),
};
/** Sent by a program without a token to find out if one is needed. Shorter than any valid token. */
export const NO_TOKEN = 'none';

/** Refuses calls without one of `tokens`. Health accepts calls without a token, but refuses a wrong one. */
export function requireToken(
  tokens: readonly string[],
  refused: (path: string, metadata: Metadata) => void,
): ServerInterceptor {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const accepted = tokens.map((token) => digest(`Bearer ${token}`));
  return (method, call) =>
    new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, forward) => {
            const [sent] = metadata.get('authorization');
            const sentDigest = digest(`${sent ?? ''}`);
            const isKnown = accepted.filter((token) => timingSafeEqual(token, sentDigest)).length > 0;
            if (isKnown || (sent === undefined && method.path.startsWith(HEALTH))) forward(metadata);
            else {
              refused(method.path, metadata);
              call.sendStatus(REFUSAL);
            }
          },
        }),
    });
}

/** Logs refused calls like others; frequent ones are only counted, since their callers are unknown. */
export function logRefusedTokens(logger: Logger, tier: string): (path: string, metadata: Metadata) => void {
  const log = createRefusalLog(logger, tier);
  return (path, metadata) => {
    const [requestId, caller] = ['x-request-id', 'x-caller'].map((name) =>
      loggable(metadata.get(name)[0]?.toString()),
    );
    const reason = 'SERVICE_TOKEN';
    const fields = { tier, requestId, rpc: rpcName(path), caller, status: 'UNAUTHENTICATED', reason };
    log.write({ level: 'info', reason, fields, msg: 'call' });
  };
}

/** The error of a call whose service token was refused: this program is misconfigured, its caller is not at fault. */
export class TokenRefusedError extends ServiceError {
  constructor(cause: Error) {
    super('UNAVAILABLE', { message: 'The service rejects the SERVICE_TOKEN of this program.', cause });
  }
}
