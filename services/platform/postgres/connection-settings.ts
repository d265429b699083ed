// The settings of every pooled connection.

/**
 * By PostgreSQL's names and in its spelling. UTC timestamps are fast to parse. JIT compilation takes longer than any of our
 * statements.
 */
export const CONNECTION_SETTINGS: Readonly<Record<string, string>> = {
  statement_timeout: '1500ms',
  lock_timeout: '500ms',
  idle_in_transaction_session_timeout: '3s',
  TimeZone: 'UTC',
  jit: 'off',
};

/** The same, as a connection asks for them. */
export const CONNECTION_OPTIONS = Object.entries(CONNECTION_SETTINGS)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ');
