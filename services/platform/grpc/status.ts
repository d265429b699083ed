// Encodes ServiceError as a gRPC status, with the details of google.rpc, and decodes it.
import { type ServiceError as GrpcError, Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { fromJSON, type MessageTypeDefinition } from '@grpc/proto-loader';
import protobuf from 'protobufjs';
import {
  ERROR_CATALOGUE,
  type ErrorDetails,
  isErrorReason,
  type KeyRefusal,
  ServiceError,
} from '../errors.ts';
import { TokenRefusedError } from './service-token.ts';

const DETAILS_KEY = 'grpc-status-details-bin';
const TYPE_PREFIX = 'type.googleapis.com/google.rpc.';
/** Text of the INTERNAL error by which grpc-js reports some interrupted calls; for the others it reports UNAVAILABLE. */
const INTERRUPTED = /^Received RST_STREAM with code/;
/** Long trailers stall a shared connection in grpc-js. */
const MAX_MESSAGE_CHARACTERS = 1000;

/** The codes with which the transport reports an interrupted call. A read that fails with one of them is retried once. */
export const RETRIED = ['UNAVAILABLE', 'INTERNAL'] as const;
/** Trailer that tells clients not to retry: another replica would have the same answer. */
const NO_RETRY = ['grpc-retry-pushback-ms', '-1'] as const;

/** Encodes an error for a gRPC caller; `domain` is the proto package that raises it. */
export function toGrpcStatus(error: ServiceError, domain: string): StatusObject {
  const message = error.message.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed();
  const { grpcStatus: code } = ERROR_CATALOGUE[error.reason];
  const metadata = new Metadata();
  const details = packDetails(error, domain, message);
  metadata.set(DETAILS_KEY, rpcStatusType.serialize({ code, message, details }));
  if (RETRIED.some((name) => status[name] === code)) metadata.set(...NO_RETRY);
  return { code, details: message, metadata };
}

function packDetails(error: ServiceError, domain: string, message: string): PackedDetail[] {
  const { requiredScopes: scopes, problem, keyRefusal: { cause, apiKeyId } = {} } = error;
  const metadata = {
    ...(scopes && { requiredScopes: scopes.join(',') }),
    ...(cause && { keyCause: cause }),
    ...(apiKeyId && { apiKeyId }),
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
 * Decodes the error of a gRPC call. An error without our details comes from the transport or a foreign server. It becomes UNAVAILABLE if
 * a retry can help (as after a missed deadline or an interrupted call) or our service token is refused, else INTERNAL_ERROR; `cause` is
 * the original error. An INTERNAL_ERROR with our details has no cause: the service has logged it.
 */
export function fromGrpcError(error: GrpcError): ServiceError {
  const packed = error.metadata?.get(DETAILS_KEY)[0];
  try {
    const decoded = packed instanceof Buffer && fromRpcStatus(rpcStatusType.deserialize(packed));
    if (decoded) return decoded;
  } catch {
    // Details in another format: the status code decides.
  }
  if (isTokenRefusal(error)) return new TokenRefusedError(error);
  const codes = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED, status.RESOURCE_EXHAUSTED];
  const isTransient = codes.includes(error.code) || matches(error, status.INTERNAL, INTERRUPTED);
  return new ServiceError(isTransient ? 'UNAVAILABLE' : 'INTERNAL_ERROR', { cause: error });
}

/** Whether a call was refused for its service token; a refused user key has our error details. */
export function isTokenRefusal({ code, metadata }: Pick<StatusObject, 'code' | 'metadata'>): boolean {
  return code === status.UNAUTHENTICATED && metadata.get(DETAILS_KEY).length === 0;
}

/** Whether a call failed because its response exceeds the client's limit. */
export function isMessageTooLarge(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : undefined;
  return matches(cause, status.RESOURCE_EXHAUSTED, /^Received message larger than max/);
}

/** Whether `error` is a grpc-js error with this code and text. */
function matches(error: unknown, code: status, details: RegExp): boolean {
  if (!(error instanceof Error) || !('code' in error) || !('details' in error)) return false;
  return error.code === code && details.test(`${error.details}`);
}

/** undefined if the details are not ours. @throws Error if they cannot be decoded. */
function fromRpcStatus(rpcStatus: RpcStatus): ServiceError | undefined {
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
  const { keyCause, apiKeyId } = metadata;
  // Servers of ours send no other causes.
  if (keyCause) details.keyRefusal = { cause: keyCause as KeyRefusal['cause'], apiKeyId };
  if (metadata.requiredScopes) details.requiredScopes = metadata.requiredScopes.split(',');
  const retryInfo = find('RetryInfo');
  const retryDelay = retryInfo && retryInfoType.deserialize(retryInfo).retryDelay;
  if (retryDelay) details.retryAfterSeconds = retryDelay.seconds;
  if (reason === 'UNAVAILABLE') details.cause = new Error(`${domain} answered that it is unavailable`);
  return new ServiceError(reason, details);
}

// The messages of google.rpc that carry error details (google/rpc/status.proto, error_details.proto).

type RpcStatus = { code: number; message: string; details: PackedDetail[] };
/** google.protobuf.Any under another name, so that the loader does not unpack it. */
type PackedDetail = { type_url: string; value: Buffer };
type ErrorInfo = { reason: string; domain: string; metadata: Record<string, string> };
type BadRequest = { fieldViolations: { field: string; description: string }[] };
type RetryInfo = { retryDelay: { seconds: number; nanos: number } | null };

const { root } = protobuf.parse(
  `syntax = "proto3";
   package google.rpc;
   message Status { int32 code = 1; string message = 2; repeated PackedDetail details = 3; }
   message PackedDetail { string type_url = 1; bytes value = 2; }
   message ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }
   message BadRequest { repeated FieldViolation fieldViolations = 1; }
   message FieldViolation { string field = 1; string description = 2; }
   message RetryInfo { Duration retryDelay = 1; }
   message Duration { int64 seconds = 1; int32 nanos = 2; }`,
  { keepCase: true },
);
const definition = fromJSON(root.toJSON(), { longs: Number, defaults: true });

function messageType<T extends object>(name: string): MessageTypeDefinition<T, T> {
  const found = definition[`google.rpc.${name}`];
  if (found === undefined || !('serialize' in found)) throw new Error(`google.rpc.${name} is not defined`);
  // The loader types messages as `object`; the messages above have the fields of T.
  return found as unknown as MessageTypeDefinition<T, T>;
}

export const rpcStatusType = messageType<RpcStatus>('Status');
export const errorInfoType = messageType<ErrorInfo>('ErrorInfo');
export const badRequestType = messageType<BadRequest>('BadRequest');
const retryInfoType = messageType<RetryInfo>('RetryInfo');
