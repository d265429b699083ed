// What the commands that call the services share: how a call fails, the common options, and what they print.
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { hasReason, invalidField, invalidRequest, ServiceError, toServiceError } from '../platform/errors.ts';
import { TokenRefusedError } from '../platform/grpc/service-token.ts';
import { UsageError } from '../platform/process/command.ts';
import { ConfigError } from '../platform/process/config.ts';
import { errorCode, oneLine, toError } from '../platform/thrown.ts';

/** Of each call of a command. Its user can press Ctrl+C, so that it waits longer than the dashboard does. */
export const COMMAND_DEADLINE_MS = 30_000;

/** `whenAway`: what to do if a service does not answer. */
export type Connection<Clients> = { clients: Clients; close(): void; whenAway: string };

/** Runs `run`, and closes the clients. @throws UNAVAILABLE that says what to do: `whenAway` if a service does not answer. */
export async function callServices<Clients, T>(
  { clients, close, whenAway }: Connection<Clients>,
  run: (clients: Clients) => Promise<T>,
): Promise<T> {
  try {
    return await run(clients);
  } catch (error) {
    // With a refused token the service responds, and its error explains the problem.
    if (!hasReason(error, 'UNAVAILABLE') || error instanceof TokenRefusedError) throw error;
    // Only an error of the connection has a code.
    const hasAnswered = errorCode(error.cause) === '';
    const message = hasAnswered
      ? `${oneLine(error)}. Try again in a moment; the log of the service says why.`
      : whenAway;
    throw new ServiceError('UNAVAILABLE', { message, cause: error });
  } finally {
    close();
  }
}

/** @throws INVALID_REQUEST that names the program. */
export function requireEmail({ email }: { email?: string | undefined }, program: string): string {
  if (email !== undefined) return email;
  throw invalidRequest('email', `--email is required. See "${program} -- --help".`);
}

/** FILE, relative to the folder in which npm was called (INIT_CWD): npm runs a script in the folder of the project. */
export function givenPath(path: string): string {
  const { INIT_CWD } = process.env;
  return INIT_CWD ? resolve(INIT_CWD, path) : path;
}

/**
 * Writes to standard output. `output`: a text, or the parts of a long one. Ends without an error where the reader wants no more, as
 * "| head" does.
 */
export async function print(output: string | AsyncIterable<string | Uint8Array>): Promise<void> {
  const parts = Readable.from(typeof output === 'string' ? [output] : output);
  await pipeline(parts, process.stdout, { end: false }).catch((error: unknown) => {
    if (errorCode(error) !== 'EPIPE') throw error;
  });
}

export const toJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** For a call whose errors name the field `field`, which is another option here. */
export function throwAs(field: string, option: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof ServiceError && error.field === field && error.problem !== undefined)
      throw invalidField(option, error.problem);
    throw error;
  };
}

/**
 * What a command prints where it fails: "CODE: message", where CODE is one of the API's error codes, and a field has the name of its
 * option.
 */
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
