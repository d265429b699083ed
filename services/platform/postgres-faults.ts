// What went wrong with a statement: something that passes, the connection, or the statement itself.
import { ServiceError } from './errors.ts';
import { NoAnswer } from './give-up.ts';

const NETWORK_FAULTS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);
/**
 * SQLSTATEs after which the same statement may succeed later: 08 connection, 53 resources, 57P shutdown and start-up,
 * 57014 statement timeout, 55P03 lock timeout, 25P03 idle in transaction, 25006 read-only standby, 40 serialisation.
 */
const PASSING_STATES = /^(08...|53...|57P..|57014|55P03|25P03|25006|40...)$/;

/** Those of them that end a statement and leave its connection as it was. */
const ENDED_STATEMENTS = /^(57014|55P03|40...)$/;

/** Whether the same statement may succeed later. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (error instanceof NoAnswer || NETWORK_FAULTS.has(code) || PASSING_STATES.test(code)) return true;
  // pg gives no code for these: the pool's time-out, and a connection that ended under a statement.
  return /timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error/.test(
    error.message,
  );
}

/** What is wrong with the connection that a statement failed on; undefined where the statement is at fault. */
export function connectionFault(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return undefined;
  const { cause } = error;
  return cause instanceof Error && ENDED_STATEMENTS.test(codeOf(cause)) ? undefined : cause;
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Whether `error` is PostgreSQL's refusal of a duplicate (SQLSTATE 23505). */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && codeOf(error) === '23505';
}
