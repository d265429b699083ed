// The context of a call for its handler, beside the request.
import type { Metadata, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import { ServiceError } from '../errors.ts';
import { readTraceparent } from '../observability/tracing.ts';
import { loggable } from '../redaction.ts';

export type CallContext = {
  requestId: string;
  /** The W3C trace that the call belongs to, if any. */
  traceparent: string | undefined;
  /** The calling program's name as it states it; not authenticated. */
  caller: string;
  /** Aborted when the caller disconnects or its deadline passes. */
  signal: AbortSignal;
};

/** A shared abort reason: an Error per call would cost more than the rest of its context. */
const GONE = new ServiceError('UNAVAILABLE');

type AnyCall = ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>;

/** A class, since a getter in an object literal would retain the call until the next full garbage collection. */
export class ServedCall implements CallContext {
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly caller: string;
  readonly #call: AnyCall;
  /** Created on demand: most handlers never read the signal. */
  #gone: AbortController | undefined;

  constructor(call: AnyCall) {
    this.#call = call;
    this.requestId = loggable(firstValue(call.metadata, 'x-request-id')) ?? crypto.randomUUID();
    this.traceparent = readTraceparent(firstValue(call.metadata, 'traceparent'));
    this.caller = loggable(firstValue(call.metadata, 'x-caller')) ?? 'unknown';
    call.on('cancelled', () => this.#gone?.abort(GONE));
  }

  get signal(): AbortSignal {
    if (this.#gone === undefined) {
      this.#gone = new AbortController();
      if (this.#call.cancelled) this.#gone.abort(GONE);
    }
    return this.#gone.signal;
  }
}

/** Room for the ids of all requests of a batch, 128 characters each. */
const MAX_METADATA_CHARACTERS = 2100;

function firstValue(metadata: Metadata, key: string): string | undefined {
  const value = metadata.get(key)[0];
  return typeof value === 'string' && value.length > 0 ? value.slice(0, MAX_METADATA_CHARACTERS) : undefined;
}
