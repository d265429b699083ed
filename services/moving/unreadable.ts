// Why a file cannot be imported.
import { ServiceError } from '../platform/errors.ts';
import { toError } from '../platform/thrown.ts';

/** An INVALID_REQUEST that says what is wrong with the file, or how to go on. */
export function unreadable(message: string, cause?: unknown): ServiceError {
  return new ServiceError('INVALID_REQUEST', { field: 'FILE', message, cause });
}

/** Runs `read`; what it throws, other than ours, becomes `message` with the reason in brackets. */
export async function orUnreadable<T>(message: string, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw unreadable(`${message} (${toError(error).message})`, error);
  }
}
