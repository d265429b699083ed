// The one codec between ServiceError and the gRPC status that carries it, both ways.
import { type ServiceError as GrpcError, Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { ERROR_CATALOGUE, type ErrorDetails, isErrorReason, ServiceError } from './errors.ts';
import {
  badRequestType,
  errorInfoType,
  type PackedDetail,
  retryInfoType,
  rpcStatusType,
} from './google-rpc.ts';

const DETAILS_KEY = 'grpc-status-details-bin';
const TYPE_PREFIX = 'type.googleapis.com/google.rpc.';
/** Long trailers stall a shared connection in grpc-js, and no message of ours needs more. */
const MAX_MESSAGE_CHARACTERS = 1000;

/** Encodes an error for a caller over gRPC; `domain` is the proto package that raises it. */
export function toGrpcStatus(error: ServiceError, domain: string): StatusObject {
  const { grpcStatus } = ERROR_CATALOGUE[error.reason];
  const message = error.message.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed();
  const metadata = new Metadata();
  const value = rpcStatusType.serialize({
    code: grpcStatus,
    message,
    details: packDetails(error, domain, message),
  });
  metadata.set(DETAILS_KEY, value);
  return { code: grpcStatus, details: message, metadata };
}

function packDetails(error: ServiceError, domain: string, message: string): PackedDetail[] {
  const scopes = error.requiredScopes;
  const metadata: Record<string, string> = scopes === undefined ? {} : { requiredScopes: scopes.join(',') };
  const details = [pack('ErrorInfo', errorInfoType.serialize({ reason: error.reason, domain, metadata }))];
  if (error.field !== undefined) {
    const violation = { field: error.field.slice(0, 100).toWellFormed(), description: message };
    details.push(pack('BadRequest', badRequestType.serialize({ fieldViolations: [violation] })));
  }
  if (error.retryAfterSeconds !== undefined) {
    const retryDelay = { seconds: error.retryAfterSeconds, nanos: 0 };
    details.push(pack('RetryInfo', retryInfoType.serialize({ retryDelay })));
  }
  return details;
}

function pack(name: string, value: Uint8Array): PackedDetail {
  return { typeUrl: TYPE_PREFIX + name, value };
}

/**
 * Decodes what a gRPC call failed with. Without our details it is a fault of the transport or of a foreign server:
 * UNAVAILABLE where trying again can help (also a missed deadline), else INTERNAL_ERROR.
 */
export function fromGrpcError(error: GrpcError): ServiceError {
  const packed = error.metadata?.get(DETAILS_KEY)[0];
  const decoded = packed instanceof Uint8Array ? decodeDetails(Buffer.from(packed)) : undefined;
  if (decoded !== undefined) return decoded;
  const passing = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED, status.RESOURCE_EXHAUSTED];
  return new ServiceError(passing.includes(error.code) ? 'UNAVAILABLE' : 'INTERNAL_ERROR', { cause: error });
}

/** Whether a call failed since its answer is larger than the client takes. */
export function isMessageTooLarge(error: unknown): boolean {
  const cause: unknown = error instanceof ServiceError ? error.cause : undefined;
  if (!(cause instanceof Error) || !('code' in cause) || !('details' in cause)) return false;
  return (
    cause.code === status.RESOURCE_EXHAUSTED && /^Received message larger than max/.test(`${cause.details}`)
  );
}

/** undefined where they are none of ours, or cannot be read. */
function decodeDetails(packed: Buffer): ServiceError | undefined {
  try {
    return readDetails(packed);
  } catch {
    return undefined;
  }
}

function readDetails(packed: Buffer): ServiceError | undefined {
  const rpcStatus = rpcStatusType.deserialize(packed);
  const find = (name: string) => {
    const detail = rpcStatus.details.find((candidate) => candidate.typeUrl === TYPE_PREFIX + name);
    return detail === undefined ? undefined : Buffer.from(detail.value);
  };
  const info = find('ErrorInfo');
  if (info === undefined) return undefined;
  const { reason, metadata } = errorInfoType.deserialize(info);
  if (!isErrorReason(reason)) return undefined;
  const details: ErrorDetails = { message: rpcStatus.message };
  const badRequest = find('BadRequest');
  const field = badRequest && badRequestType.deserialize(badRequest).fieldViolations[0]?.field;
  if (field) details.field = field;
  if (metadata.requiredScopes) details.requiredScopes = metadata.requiredScopes.split(',');
  const retryInfo = find('RetryInfo');
  const retryDelay = retryInfo && retryInfoType.deserialize(retryInfo).retryDelay;
  if (retryDelay) details.retryAfterSeconds = retryDelay.seconds;
  return new ServiceError(reason, details);
}
