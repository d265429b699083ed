// Validates fields that all rpcs share, as the proto files document; each error names its field.
import { ServiceError } from '../platform/errors.ts';
import { readUuid } from '../platform/uuid.ts';

export function userNotFound(): ServiceError {
  const problem = 'is not that of a user.';
  return new ServiceError('NOT_FOUND', { field: 'user_id', message: `user_id ${problem}`, problem });
}

/** `what`: "reminder" or "push subscription". */
export function notFound(what: string, id: string): ServiceError {
  const message = `There is no ${what} ${JSON.stringify(id.slice(0, 64))}.`;
  return new ServiceError('NOT_FOUND', { message });
}

/** In lower case. @throws NOT_FOUND for an ID that is not a UUID, like for an unknown one. */
export function requireId(what: string, text: string): string {
  const id = readUuid(text);
  if (id === undefined) throw notFound(what, text);
  return id;
}
