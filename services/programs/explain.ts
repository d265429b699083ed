// What a command that calls the services prints where it fails.
import { ServiceError, toServiceError } from '../platform/errors.ts';
import { UsageError } from '../platform/process/command.ts';
import { ConfigError } from '../platform/process/config.ts';
import { toError } from '../platform/thrown.ts';

/** "CODE: message", where CODE is one of the API's error codes, and a field has the name of its option. */
export function explain(error: unknown): string {
  const isInvalid = error instanceof ConfigError || error instanceof UsageError;
  const known = isInvalid
    ? new ServiceError('INVALID_REQUEST', { message: error.message })
    : toServiceError(error);
  // No log has the faults of this program, so the stack is printed.
  if (known.cause === error) return `internal_error: ${toError(error).stack}`;
  const { reason, message, problem, field = '' } = known;
  const text = problem === undefined ? message : `--${field.replaceAll('_', '-')} ${problem}`;
  return `${reason.toLowerCase()}: ${text}`;
}
