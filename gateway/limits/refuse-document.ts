// The error for a document that is refused before execution.
import { ServiceError } from '../../services/platform/errors.ts';

export function refuseDocument(message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { field: 'query', message });
}
