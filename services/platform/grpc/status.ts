// Encodes ServiceError as a gRPC status, and decodes it.
import { type ServiceError as GrpcError, Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { ERROR_CATALOGUE, type ErrorDetails, isErrorReason, ServiceError } from '../errors.ts';
import {
  badRequestType,
  errorInfoType,
  type PackedDetail,
  type RpcStatus,
  retryInfoType,
  rpcStatusType,
} from '../protobuf/google-rpc.ts';
import { NO_RETRY, RETRIED } from './read-retries.ts';
import { TokenRefusedError } from './service-token.ts';

const DETAILS_KEY = 'grpc-status-details-bin';
const TYPE_PREFIX = 'type.googleapis.com/google.rpc.';
/** What grpc-js says of a call that is cut, where it does not say UNAVAILABLE. */
const CUT = [status.INTERNAL, /^Received RST_STREAM with code/] as const;
/** Long trailers stall a shared connection in grpc-js. */
const MAX_MESSAGE_CHARACTERS = 1000;

/** Encodes an error for a gRPC caller; `domain` is the proto package that raises it. */
export function toGrpcStatus(error: ServiceError, domain: string): StatusObject {
  const rpcStatus = toRpcStatus(error, domain);
  const metadata = new Metadata();
  metadata.set(DETAILS_KEY, rpcStatusType.serialize(rpcStatus));
  if (RETRIED.some((name) => status[name] === rpcStatus.code)) metadata.set(...NO_RETRY);
  return { code: rpcStatus.code, details: rpcStatus.message, metadata };
}

/** The same as a google.rpc.Status message, for one request of a batch. */
export function toRpcStatus(error: ServiceError, domain: string): RpcStatus {
  const message = error.message.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed();
  const { grpcStatus: code } = ERROR_CATALOGUE[error.reason];
  return { code, message, details: packDetails(error, domain, message) };
}

function packDetails(error: ServiceError, domain: string, message: string): PackedDetail[] {
  const { requiredScopes: scopes, problem } = error;
  const metadata = {
    ...(scopes && { requiredScopes: scopes.join(',') }),
    ...(problem && { problem: problem.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed() }),
  };
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

function pack(name: string, value: Buffer): PackedDetail {
  return { type_url: TYPE_PREFIX + name, value };
}

/**
 * Decodes the error of a gRPC call. Without our details it comes from the transport or a foreign server: UNAVAILABLE if a retry
 * can help (a missed deadline or a cut call, too) or our service token is refused, else INTERNAL_ERROR.
 */
export function fromGrpcError(error: GrpcError): ServiceError {
  const packed = error.metadata?.get(DETAILS_KEY)[0];
  const decoded = packed instanceof Uint8Array ? decodeDetails(Buffer.from(packed)) : undefined;
  if (decoded !== undefined) return decoded;
  if (isTokenRefusal(error)) return new TokenRefusedError(error);
  const passing = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED, status.RESOURCE_EXHAUSTED];
  const mayPass = passing.includes(error.code) || says(error, ...CUT);
  return new ServiceError(mayPass ? 'UNAVAILABLE' : 'INTERNAL_ERROR', { cause: error });
}

/** Whether a call was refused for its service token; a refused user key has our error details. */
export function isTokenRefusal({ code, metadata }: Pick<StatusObject, 'code' | 'metadata'>): boolean {
  return code === status.UNAUTHENTICATED && metadata.get(DETAILS_KEY).length === 0;
}

/** Whether a call failed because its response exceeds the client's limit. */
export function isMessageTooLarge(error: unknown): boolean {
  return says(causeOf(error), status.RESOURCE_EXHAUSTED, /^Received message larger than max/);
}

/** Whether a dying process or connection has cut a call. */
export function isCut(error: unknown): boolean {
  return says(causeOf(error), ...CUT);
}

const causeOf = (error: unknown) => (error instanceof ServiceError ? error.cause : undefined);

/** Whether `error` is one of grpc-js with this code and text. */
function says(error: unknown, code: status, details: RegExp): boolean {
  if (!(error instanceof Error) || !('code' in error) || !('details' in error)) return false;
  return error.code === code && details.test(`${error.details}`);
}

/** undefined if the details are not ours or cannot be decoded. */
function decodeDetails(packed: Buffer): ServiceError | undefined {
  try {
    return fromRpcStatus(rpcStatusType.deserialize(packed));
  } catch {
    return undefined;
  }
}

/** undefined without our details. @throws Error if they cannot be decoded. */
export function fromRpcStatus(rpcStatus: RpcStatus): ServiceError | undefined {
  const find = (name: string) => {
    const detail = rpcStatus.details.find(({ type_url }) => type_url === TYPE_PREFIX + name);
    return detail === undefined ? undefined : Buffer.from(detail.value);
  };
  const info = find('ErrorInfo');
  if (info === undefined) return undefined;
  const { reason, domain, metadata } = errorInfoType.deserialize(info);
  if (!isErrorReason(reason)) return undefined;
  const details: ErrorDetails = { message: rpcStatus.message };
  const badRequest = find('BadRequest');
  const field = badRequest && badRequestType.deserialize(badRequest).fieldViolations[0]?.field;
  if (field) details.field = field;
  if (metadata.problem) details.problem = metadata.problem;
  if (metadata.requiredScopes) details.requiredScopes = metadata.requiredScopes.split(',');
  const retryInfo = find('RetryInfo');
  const retryDelay = retryInfo && retryInfoType.deserialize(retryInfo).retryDelay;
  if (retryDelay) details.retryAfterSeconds = retryDelay.seconds;
  if (reason === 'UNAVAILABLE') details.cause = new Error(`${domain} answered that it is unavailable`);
  return new ServiceError(reason, details);
}
