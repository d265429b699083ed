// The four messages of google.rpc that carry error details over gRPC (google/rpc/status.proto, error_details.proto).
import { fromJSON, type MessageTypeDefinition } from '@grpc/proto-loader';
import protobuf from 'protobufjs';

export type RpcStatus = { code: number; message: string; details: PackedDetail[] };
/** google.protobuf.Any under another name, so that the loader does not unpack it. */
export type PackedDetail = { type_url: string; value: Buffer };
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
export const retryInfoType = messageType<RetryInfo>('RetryInfo');
