// W3C Trace Context (w3.org/TR/trace-context): the header that continues a caller's trace through every tier.

/** Version 00 exactly; for later versions the first four fields, which the standard guarantees. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const LATER_VERSION =
  /^(?!00|ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}-[!-~]{1,200}$/;

/** The header's value if it is a valid traceparent, else undefined, as the standard requires. */
export function readTraceparent(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  return TRACEPARENT.test(value) || LATER_VERSION.test(value) ? value : undefined;
}
