// The four messages of google.rpc that carry error details over gRPC (google/rpc/status.proto, error_details.proto).
import { fromJSON, type MessageTypeDefinition } from '@grpc/proto-loader';

/** A map field, which the loader's type for JSON descriptors lacks. */
const metadataField = { keyType: 'string', type: 'string', id: 3 };

export type RpcStatus = { code: number; message: string; details: PackedDetail[] };
/** google.protobuf.Any under another name, so that the loader does not unpack it. */
export type PackedDetail = { type_url: string; value: Buffer };
type ErrorInfo = { reason: string; domain: string; metadata: Record<string, string> };
type BadRequest = { fieldViolations: { field: string; description: string }[] };
type RetryInfo = { retryDelay: { seconds: number; nanos: number } | null };

const definition = fromJSON(
  {
    nested: {
      google: {
        nested: {
          rpc: {
            nested: {
              Status: {
                fields: {
                  code: { type: 'int32', id: 1 },
                  message: { type: 'string', id: 2 },
                  details: { rule: 'repeated', type: 'PackedDetail', id: 3 },
                },
              },
              PackedDetail: {
                fields: { type_url: { type: 'string', id: 1 }, value: { type: 'bytes', id: 2 } },
              },
              ErrorInfo: {
                fields: {
                  reason: { type: 'string', id: 1 },
                  domain: { type: 'string', id: 2 },
                  metadata: metadataField,
                },
              },
              BadRequest: {
                fields: { fieldViolations: { rule: 'repeated', type: 'FieldViolation', id: 1 } },
              },
              FieldViolation: {
                fields: { field: { type: 'string', id: 1 }, description: { type: 'string', id: 2 } },
              },
              RetryInfo: { fields: { retryDelay: { type: 'Duration', id: 1 } } },
              Duration: { fields: { seconds: { type: 'int64', id: 1 }, nanos: { type: 'int32', id: 2 } } },
            },
          },
        },
      },
    },
  },
  { longs: Number, defaults: true },
);

function messageType<T extends object>(name: string): MessageTypeDefinition<T, T> {
  const found = definition[`google.rpc.${name}`];
  if (found === undefined || !('serialize' in found)) throw new Error(`google.rpc.${name} is not defined`);
  // The loader types messages as `object`; the fields above are those of T.
  return found as unknown as MessageTypeDefinition<T, T>;
}

export const rpcStatusType = messageType<RpcStatus>('Status');
export const errorInfoType = messageType<ErrorInfo>('ErrorInfo');
export const badRequestType = messageType<BadRequest>('BadRequest');
export const retryInfoType = messageType<RetryInfo>('RetryInfo');
