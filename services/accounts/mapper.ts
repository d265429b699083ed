// Maps between the service's types and the messages of accounts.v1.
import type { ApiKeyInput } from '../../generated/accounts/v1/ApiKey.ts';
import type { Plan as PlanMessage } from '../../generated/accounts/v1/Plan.ts';
import type { UserInput } from '../../generated/accounts/v1/User.ts';
import type { UserEventInput } from '../../generated/accounts/v1/UserEvent.ts';
import { invalidField } from '../platform/errors.ts';
import { toOptionalTimestamp, toTimestamp } from '../platform/protobuf/timestamps.ts';
import type { ApiKey } from './repositories/api-keys-repository.ts';
import type { Plan, User } from './repositories/users-repository.ts';
import type { UserEvent } from './user-event.ts';

const PLAN_OF_MESSAGE: Record<PlanMessage, Plan | undefined> = {
  PLAN_UNSPECIFIED: undefined,
  PLAN_FREE: 'free',
  PLAN_PREMIUM: 'premium',
};

const MESSAGE_OF_PLAN: Record<Plan, PlanMessage> = { free: 'PLAN_FREE', premium: 'PLAN_PREMIUM' };

/** undefined if absent. @throws INVALID_REQUEST for a number outside the enum. */
export function fromPlan(message: PlanMessage): Plan | undefined {
  if (!Object.hasOwn(PLAN_OF_MESSAGE, message)) throw invalidField('plan', 'is not a Plan.');
  return PLAN_OF_MESSAGE[message];
}

export function toUserMessage(user: User): UserInput {
  return {
    userId: user.userId,
    email: user.email,
    ...(user.firstName !== null && { firstName: user.firstName }),
    ...(user.lastName !== null && { lastName: user.lastName }),
    plan: MESSAGE_OF_PLAN[user.plan],
    timeZone: user.timeZone,
    createTime: toTimestamp(user.createTime),
    updateTime: toTimestamp(user.updateTime),
  };
}

export function toApiKeyMessage(key: ApiKey): ApiKeyInput {
  return {
    apiKeyId: key.apiKeyId,
    userId: key.userId,
    name: key.name,
    scopes: [...key.scopes],
    createTime: toTimestamp(key.createTime),
    lastUsedTime: toOptionalTimestamp(key.lastUsedTime),
    revokeTime: toOptionalTimestamp(key.revokeTime),
    keyPrefix: key.keyPrefix ?? '',
    lastRefusedTime: toOptionalTimestamp(key.lastRefusedTime),
    refusedMinutes: key.refusedMinutes,
  };
}

export function toUserEventMessage(event: UserEvent): UserEventInput {
  return {
    eventId: event.eventId,
    eventTime: toTimestamp(event.eventTime),
    action: event.action,
    actor: event.actor,
    requestId: event.requestId,
    subjectIds: [...event.subjectIds],
    kind: event.isOfKey ? 'USER_EVENT_KIND_KEY' : 'USER_EVENT_KIND_OPERATOR',
  };
}
