// W3C Trace Context (w3.org/TR/trace-context): the header by which a caller's trace goes on through every tier.

/** Version 00 exactly; of a later version its first four fields, which the standard promises to keep. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const LATER_VERSION =
  /^(?!00|ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}-[!-~]{1,200}$/;

/** A header's value if it is a traceparent; what is not one is as good as absent, as the standard has it. */
export function readTraceparent(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  return TRACEPARENT.test(value) || LATER_VERSION.test(value) ? value : undefined;
}
