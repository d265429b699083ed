import { ServiceError } from '../../services/platform/errors.ts';

/** Calls again where a busy machine takes longer to open a connection than the 0.75 s for which a pool waits. */
export async function connected<T>(call: () => Promise<T>): Promise<T> {
  for (let left = 9; ; left -= 1) {
    try {
      return await call();
    } catch (error) {
      if (left === 0 || !isLate(error)) throw error;
    }
  }
}

/** By pg's text, which has no code: a connection that has died is something else. */
const isLate = (error: unknown) =>
  error instanceof ServiceError &&
  error.cause instanceof Error &&
  /timeout exceeded when trying to connect|due to connection timeout/.test(error.cause.message);
