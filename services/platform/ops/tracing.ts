// How the code tells a trace: spans at the few places through which everything goes, and the form of it that does nothing.

/** Ids, names and codes of ours only: never a title, a key, a parameter of SQL or anything else that users send. */
export type Attributes = Readonly<Record<string, string | number>>;

export type SpanDescription = {
  /** The part of the system that speaks: rest, scheduling and so on. */
  tier: string;
  name: string;
  kind: 'server' | 'client';
  attributes: Attributes;
  /** Reads a header of what came in: its traceparent is the parent. Without it the span that runs now is. */
  incoming?: (header: string) => string | undefined;
};

export type Span = {
  /** Runs `work` so that spans begun in it, also later on, are children of this one. */
  run<T>(work: () => T): T;
  /** `failure` is a code, where it was a fault of ours; texts of errors may hold what users sent. */
  end(outcome: { attributes?: Attributes; failure?: string }): void;
};

export type Tracing = {
  isOn: boolean;
  begin(description: SpanDescription): Span;
  /** What to send along with a call, so that the other side's spans are children of the one that runs now. */
  outgoing(): Readonly<Record<string, string>>;
};

/** The span that is none. */
export const NO_SPAN: Span = { run: (work) => work(), end() {} };
const NO_HEADERS = {};

/** Traces nothing. */
export const NO_TRACING: Tracing = { isOn: false, begin: () => NO_SPAN, outgoing: () => NO_HEADERS };
