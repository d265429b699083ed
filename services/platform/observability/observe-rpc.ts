// Measures, traces and logs gRPC calls in client and server, by rpc name.
import { type Metadata, status } from '@grpc/grpc-js';
import type { ServiceError } from '../errors.ts';
import type { Logger } from '../logging/logger.ts';
import { isUuid } from '../uuid.ts';
import type { Telemetry } from './telemetry.ts';

type ObservedCall = {
  /** Runs `work` within the call's span. */
  run<T>(work: () => T): T;
  /** `code` is the gRPC status code. `refusal` has the server's details. */
  end(code: number, refusal?: ServiceError): void;
};

/** Status codes that are faults of the server; the others are regular results. */
const FAULTS: readonly number[] = [
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.INTERNAL,
  status.UNAVAILABLE,
  status.DATA_LOSS,
  status.UNIMPLEMENTED,
];

/** "/package.Service/Method" in the form of labels, logs and traces. */
export function rpcName(path: string): string {
  return path.slice(1);
}

/** The service of a path in the form of logs and traces. */
export function tierOf(path: string): string {
  return rpcName(path).split('.')[0] ?? path;
}

/** The client side. */
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

/** The server side; writes one log line per call. */
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
  const tier = tierOf(call.path);
  const { requestId, caller } = call.context;
  const began = performance.now();
  const stop = metrics.time('srs_grpc_server_call_duration_seconds');
  const span = tracing.begin({
    tier,
    name: rpc,
    kind: 'server',
    attributes: { ...attributesOf(rpc), 'srs.request_id': requestId },
    incoming: (header) => call.metadata.get(header)[0]?.toString(),
  });
  return {
    run: span.run,
    end(code, refusal) {
      const name = nameOf(code);
      stop({ rpc, code: name });
      span.end(outcomeOf(code));
      if (!logger.isLevelEnabled('info')) return;
      const durationMs = Math.round((performance.now() - began) * 10) / 10;
      const { reason, field } = refusal ?? {};
      const asked = { tier, requestId, rpc, userId: userOf(call.request), caller };
      logger.info({ ...asked, status: name, reason, field: field?.slice(0, 100), durationMs }, 'call');
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

/** The userId of a request, if it is a UUID; other values are not logged. */
function userOf(request: unknown): string | undefined {
  if (typeof request !== 'object' || request === null || !('userId' in request)) return undefined;
  return typeof request.userId === 'string' && isUuid(request.userId) ? request.userId : undefined;
}
