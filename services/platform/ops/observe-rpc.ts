// Measures, traces and logs gRPC calls at both ends, by the names of the rpcs.
import { type Metadata, status } from '@grpc/grpc-js';
import type { Logger } from '../logger.ts';
import { isUuid } from '../text.ts';
import type { Telemetry } from './telemetry.ts';

export type ObservedCall = {
  /** Runs what belongs to the call. */
  run<T>(work: () => T): T;
  /** `code` as in gRPC: 0 is OK. */
  end(code: number): void;
};

/** Codes that are a fault of the answering side; the others are answers. */
const FAULTS: readonly number[] = [
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.INTERNAL,
  status.UNAVAILABLE,
  status.DATA_LOSS,
  status.UNIMPLEMENTED,
];

/** "/package.Service/Method" as it stands in labels, logs and traces. */
export function rpcName(path: string): string {
  return path.slice(1);
}

/** The calling end. */
export function observeSentCall(
  { metrics, tracing }: Telemetry,
  { path, caller }: { path: string; caller: string },
): ObservedCall {
  const rpc = rpcName(path);
  const stop = metrics.time('srs_grpc_client_call_duration_seconds');
  const span = tracing.begin({ tier: caller, name: rpc, kind: 'client', attributes: attributesOf(rpc) });
  return {
    run: span.run,
    end(code) {
      stop({ rpc, code: nameOf(code) });
      span.end(outcomeOf(code));
    },
  };
}

/** The answering end; one line in the log for each call. */
export function observeServedCall(
  { metrics, tracing, logger }: Telemetry & { logger: Logger },
  call: {
    path: string;
    metadata: Metadata;
    request: unknown;
    context: { requestId: string; caller: string };
  },
): ObservedCall {
  const rpc = rpcName(call.path);
  const { requestId, caller } = call.context;
  const began = performance.now();
  const stop = metrics.time('srs_grpc_server_call_duration_seconds');
  const span = tracing.begin({
    tier: rpc.split('.')[0] ?? rpc,
    name: rpc,
    kind: 'server',
    attributes: { ...attributesOf(rpc), 'srs.request_id': requestId },
    incoming: (header) => call.metadata.get(header)[0]?.toString(),
  });
  return {
    run: span.run,
    end(code) {
      const name = nameOf(code);
      stop({ rpc, code: name });
      span.end(outcomeOf(code));
      if (!logger.isLevelEnabled('info')) return;
      const durationMs = Math.round((performance.now() - began) * 10) / 10;
      logger.info({ requestId, rpc, status: name, durationMs, userId: userOf(call.request), caller }, 'call');
    },
  };
}

function attributesOf(rpc: string) {
  const [service = '', method = ''] = rpc.split('/');
  return { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method };
}

function outcomeOf(code: number) {
  const attributes = { 'rpc.grpc.status_code': code };
  return FAULTS.includes(code) ? { attributes, failure: nameOf(code) } : { attributes };
}

function nameOf(code: number): string {
  return status[code] ?? 'UNKNOWN';
}

/** Of a request that is about one user, and says so in a field of its own; whatever else stands there is not logged. */
function userOf(request: unknown): string | undefined {
  if (typeof request !== 'object' || request === null || !('userId' in request)) return undefined;
  return typeof request.userId === 'string' && isUuid(request.userId) ? request.userId : undefined;
}
