// The limits of a gateway request, documented in docs/gateway.md.
const MIB = 1024 * 1024;

export const LIMITS = {
  /** Requests in progress per process; one caller can hold three quarters. */
  requestsAtOnce: 96,
  bodyBytes: 100 * 1024,
  tokens: 2000,
  /** Bounds the line counting for error positions. */
  lines: 2000,
  operations: 50,
  fragments: 50,
  directives: 50,
  aliases: 30,
  /** Length of an alias or a variable name. */
  nameCharacters: 64,
  /** Pairs of fields with the same name, which validation compares. */
  pairs: 40_000,
  /** Validation errors reported per document. */
  errors: 5,
  depth: 12,
  /** Introspection queries nest types deeply. */
  introspectionDepth: 20,
  cost: 20_000,
  mutations: 10,
  /** Service calls per request. */
  rpcs: 250,
  /** Concurrent service calls per caller, so that one cannot use a service's whole pool. */
  rpcsAtOnce: 32,
  /** Bytes of all service responses, of one of them, and of the gateway's response. */
  answerBytes: 16 * MIB,
  /** After this a query starts no more service calls. */
  queryMs: 10_000,
  /** Size of the cache of valid documents. */
  documentBytes: 16 * MIB,
} as const;
