// Classifies the errors of statements: transient, of the connection, or of the statement itself.
import { ServiceError } from '../errors.ts';
import { errorCode } from '../thrown.ts';

/** The server did not respond to a statement in time. */
export class StatementTimeout extends Error {
  constructor() {
    super('the database did not answer in time');
  }
}

const NETWORK_FAULTS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EMFILE',
  'ENFILE',
]);
/**
 * SQLSTATEs after which the same statement may succeed later: 08 connection, 53 resources, 57P shutdown and start-up,
 * 57014 statement timeout, 55P03 lock timeout, 25P03 idle in transaction, 25006 read-only standby, 40 serialisation, 26000 and
 * 42P05 prepared statements of another session, to which a pooler led.
 */
const TRANSIENT = /^(08...|53...|57P..|57014|55P03|25P03|25006|40...|26000|42P05)$/;

/** The transient ones that leave the connection usable. */
const ENDED_STATEMENTS = /^(57014|55P03|40...)$/;

/** Whether the error is transient, so that a retry can succeed. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = errorCode(error);
  if (error instanceof StatementTimeout || NETWORK_FAULTS.has(code) || TRANSIENT.test(code)) return true;
  // pg sets no code for the pool's time-out and for a connection that ends during a statement.
  return /timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error/.test(
    error.message,
  );
}

/** A transient error as UNAVAILABLE, any other unchanged. */
export function asServiceError(error: unknown): unknown {
  return isUnavailable(error) ? new ServiceError('UNAVAILABLE', { cause: error }) : error;
}

/** Whether the server cancelled the statement, which then had no effect, and left the connection usable. */
export function isEnded(error: unknown): boolean {
  return error instanceof ServiceError && ENDED_STATEMENTS.test(errorCode(error.cause));
}

/** Whether that was because the statement took longer than its time-out. */
export function isTooSlow(error: unknown): boolean {
  return error instanceof ServiceError && errorCode(error.cause) === '57014';
}

/** The fault of the connection on which a statement failed; undefined if the connection is still usable. */
export function connectionFault(error: unknown): unknown {
  return error instanceof ServiceError && !isEnded(error) ? error.cause : undefined;
}

/** Removes the client from the error of an idle connection: pg adds it, with the text of every prepared statement. */
export function withoutClient(error: Error): Error {
  Reflect.deleteProperty(error, 'client');
  return error;
}

/** Without the detail of a broken constraint: it quotes the row, which can have a learner's texts. */
export function withoutRow(error: unknown): unknown {
  if (errorCode(error).startsWith('23')) Reflect.deleteProperty(Object(error), 'detail');
  return error;
}

/** Whether `error` is a unique violation (SQLSTATE 23505). */
export function isUniqueViolation(error: unknown): boolean {
  return errorCode(error) === '23505';
}

/** Whether `error` is a foreign key violation (SQLSTATE 23503). */
export function isForeignKeyViolation(error: unknown): boolean {
  return errorCode(error) === '23503';
}
