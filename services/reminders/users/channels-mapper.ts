// Maps what is held of a user to messages of reminders.v1.
import type { CalendarFeedInput } from '../../../generated/reminders/v1/CalendarFeed.ts';
import type { EmailChannelInput } from '../../../generated/reminders/v1/EmailChannel.ts';
import type { EmailOffReason as EmailOffReasonMessage } from '../../../generated/reminders/v1/EmailOffReason.ts';
import type { GetChannelsResponseInput } from '../../../generated/reminders/v1/GetChannelsResponse.ts';
import { toOptionalTimestamp, toTimestamp } from '../../platform/protobuf/timestamps.ts';
import type { EmailOffReason, UserRow } from './users-repository.ts';

const MESSAGE_OF_REASON: Record<EmailOffReason, EmailOffReasonMessage> = {
  'switched off': 'EMAIL_OFF_REASON_SWITCHED_OFF',
  unsubscribed: 'EMAIL_OFF_REASON_UNSUBSCRIBED',
  refused: 'EMAIL_OFF_REASON_REFUSED',
};

/** E-mail is on for a user of whom nothing is held, and off without a reason for one whose data were deleted. */
export function toEmailMessage(user: Partial<UserRow> | undefined): EmailChannelInput {
  const { emailOffReason = null, emailOffTime = null, deleteTime = null } = user ?? {};
  return {
    enabled: emailOffReason === null && deleteTime === null,
    offReason: emailOffReason === null ? 'EMAIL_OFF_REASON_UNSPECIFIED' : MESSAGE_OF_REASON[emailOffReason],
    offTime: toOptionalTimestamp(emailOffTime),
  };
}

export function toFeedMessage(createTime: Date): CalendarFeedInput {
  return { createTime: toTimestamp(createTime) };
}

export function toChannelsMessage(user: UserRow | undefined): GetChannelsResponseInput {
  const createTime = user?.feedCreateTime ?? null;
  return {
    email: toEmailMessage(user),
    calendarFeed: createTime === null ? null : toFeedMessage(createTime),
  };
}
