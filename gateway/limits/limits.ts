// What a request to the gateway may be and take; docs/gateway.md says the same in words.
const MIB = 1024 * 1024;

export const LIMITS = {
  /** Requests at work in a process, of which one caller may hold three quarters. */
  requestsAtOnce: 96,
  bodyBytes: 100 * 1024,
  tokens: 2000,
  /** The line of each error is counted from the first. */
  lines: 2000,
  operations: 50,
  fragments: 50,
  directives: 50,
  aliases: 30,
  /** Of an alias or a variable. */
  nameCharacters: 64,
  /** Of fields of one name, summed over all names: validation compares each with each. */
  pairs: 40_000,
  /** Reported of one document. */
  errors: 5,
  depth: 12,
  /** Tools ask for types of types. */
  introspectionDepth: 20,
  cost: 20_000,
  mutations: 10,
  /** Calls to the services for one request. */
  rpcs: 250,
  /** And at once for one caller, whose requests must not take a service's whole pool. */
  rpcsAtOnce: 8,
  /** The same of lists and users, of which up to 16 go by one call. */
  sharedReadsAtOnce: 128,
  /** Of the services' answers, of any one of them, and of the answer itself. */
  answerBytes: 16 * MIB,
  /** No call to a service is begun for a query after this. */
  queryMs: 10_000,
  /** What documents leave behind, so that they are read once. */
  documentBytes: 16 * MIB,
} as const;
