// Validates gRPC requests as the proto files document; each error names its field.
import { invalidField, ServiceError } from '../platform/errors.ts';
import { codePointLength, isStorable } from '../platform/text.ts';
import { isUuid } from '../platform/uuid.ts';
import { isKeyPrefix } from './api-key.ts';

const MAX_EMAIL_CHARACTERS = 254;
const MAX_NAME_CODE_POINTS = 100;
const ACTION = /^[a-zA-Z]{1,40}$/;
const MAX_SUBJECTS = 100;
const MAX_EXCLUDED_ACTIONS = 20;
/** RFC 5321 without quoted local parts and address literals, which mail providers do not use. */
const EMAIL =
  /^(?=.{1,64}@)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/;

export function userNotFound(): ServiceError {
  return new ServiceError('NOT_FOUND', { message: 'There is no such user.' });
}

export function keyNotFound(): ServiceError {
  return new ServiceError('NOT_FOUND', { message: 'There is no such valid API key.' });
}

export function requireUserId(userId: string): string {
  if (!isUuid(userId)) throw userNotFound();
  return userId;
}

export function requireApiKeyId(apiKeyId: string): string {
  if (!isUuid(apiKeyId)) throw keyNotFound();
  return apiKeyId;
}

export function requireEmail(email: string): string {
  if (email.length > MAX_EMAIL_CHARACTERS || !EMAIL.test(email)) {
    throw invalidField('email', 'must be an address such as ada@example.com.');
  }
  return email;
}

export function requireEmailPrefix(prefix: string): string {
  if (prefix !== '' && prefix.length <= MAX_EMAIL_CHARACTERS && isStorable(prefix)) return prefix;
  throw invalidField('email_prefix', `must have 1 to ${MAX_EMAIL_CHARACTERS} characters and no U+0000.`);
}

export function requireKeyPrefix(prefix: string): string {
  if (isKeyPrefix(prefix)) return prefix;
  throw invalidField('key_prefix', 'must be rmk_live_ and at most 8 letters and digits.');
}

/** Empty counts as absent. */
export function readName(field: string, name: string | undefined): string | null {
  return requireShort(field, name ?? '') || null;
}

export function requireShort(field: string, text: string): string {
  if (!isStorable(text) || codePointLength(text) > MAX_NAME_CODE_POINTS) {
    throw invalidField(field, `must have at most ${MAX_NAME_CODE_POINTS} characters and no U+0000.`);
  }
  return text;
}

/** The name of an action, which can hold no text of a person. */
export function requireAction(action: string): string {
  if (ACTION.test(action)) return action;
  throw invalidField('action', 'must have 1 to 40 letters.');
}

export function requireSubjectIds(subjectIds: readonly string[]): readonly string[] {
  if (subjectIds.length <= MAX_SUBJECTS && subjectIds.every(isUuid)) return subjectIds;
  throw invalidField('subject_ids', `must be at most ${MAX_SUBJECTS} UUIDs.`);
}

export function requireExcludedActions(actions: readonly string[]): readonly string[] {
  if (actions.length <= MAX_EXCLUDED_ACTIONS && actions.every((action) => ACTION.test(action)))
    return actions;
  throw invalidField('excluded_actions', `must be at most ${MAX_EXCLUDED_ACTIONS} actions.`);
}
