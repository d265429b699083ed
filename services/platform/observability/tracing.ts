// The tracing interface, and an implementation that does nothing.

/** Only our own IDs, names and codes: never titles, keys, SQL parameters or other user data. */
type Attributes = Readonly<Record<string, string | number>>;

type SpanDescription = {
  /** The part of the system, such as rest or scheduling. */
  tier: string;
  name: string;
  kind: 'server' | 'client';
  attributes: Attributes;
  /** Reads an incoming header: its traceparent is the parent; default: the active span. */
  incoming?: (header: string) => string | undefined;
};

export type Span = {
  /** Runs `work` with this span active, asynchronous parts included. */
  run<T>(work: () => T): T;
  /** `failure` is an error code for our own faults. Never a message, which can contain user data. */
  end(outcome: { attributes?: Attributes; failure?: string }): void;
};

export type Tracing = {
  isOn: boolean;
  begin(description: SpanDescription): Span;
  /** Headers for an outgoing call that make the active span its parent. */
  outgoing(): Readonly<Record<string, string>>;
};

/** A span that does nothing. */
export const NO_SPAN: Span = { run: (work) => work(), end() {} };
const NO_HEADERS = {};

/** Tracing that does nothing. */
export const NO_TRACING: Tracing = { isOn: false, begin: () => NO_SPAN, outgoing: () => NO_HEADERS };
