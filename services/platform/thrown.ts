// Reads what was thrown, whatever it is. Loads no package: the launcher of PostgreSQL runs without any.

/** Wraps thrown values that are not Errors. */
export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** The code of an error of the system or of a library, such as ENOENT; empty if it has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** An error in one line: code and message, without user data. */
export function oneLine(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const details = cause instanceof Error && 'details' in cause ? String(cause.details) : undefined;
  const said = details || toError(cause).message || errorCode(cause) || 'unknown fault';
  const text = said.replace(/\s+/g, ' ');
  // grpc-js wraps the original error.
  return (/.*\bError: (.+?)\.? Resolution note/.exec(text)?.[1] ?? text).slice(0, 200);
}
