// Validates fields that all rpcs share, as the proto files document; each error names its field.
import { ServiceError } from '../platform/errors.ts';
import { isUuid } from '../platform/uuid.ts';

export function userNotFound(): ServiceError {
  return new ServiceError('NOT_FOUND', { field: 'user_id', message: 'user_id is not that of a user.' });
}

/** `what`: "reminder" or "push subscription". */
export function notFound(what: string, id: string): ServiceError {
  const message = `There is no ${what} ${JSON.stringify(id.slice(0, 64))}.`;
  return new ServiceError('NOT_FOUND', { message });
}

/** @throws NOT_FOUND for an ID that is not a UUID, like for an unknown one. */
export function requireId(what: string, id: string): string {
  if (!isUuid(id)) throw notFound(what, id);
  return id;
}
