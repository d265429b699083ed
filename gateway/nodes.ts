// The parent objects of resolvers: service messages with their owner, which the messages lack.
import type { ApiKey } from '../generated/accounts/v1/ApiKey.ts';
import type { KeyRequestCount } from '../generated/accounts/v1/KeyRequestCount.ts';
import type { RefusedKeyRequest } from '../generated/accounts/v1/RefusedKeyRequest.ts';
import type { User } from '../generated/accounts/v1/User.ts';
import type { TimelineKind } from '../generated/gateway/resolvers.ts';
import type { Delivery } from '../generated/reminders/v1/Delivery.ts';
import type { EmailOffUser } from '../generated/reminders/v1/EmailOffUser.ts';
import type { Learner } from '../generated/scheduling/v1/Learner.ts';
import type { Material } from '../generated/scheduling/v1/Material.ts';
import type { RetentionCount } from '../generated/scheduling/v1/RetentionCount.ts';
import type { Review } from '../generated/scheduling/v1/Review.ts';
import type { Snooze } from '../generated/scheduling/v1/Snooze.ts';
import type { StatsWindowInput } from '../generated/scheduling/v1/StatsWindow.ts';

export type { CalendarFeed as CalendarFeedNode } from '../generated/reminders/v1/CalendarFeed.ts';
export type { EmailChannel as EmailRemindersNode } from '../generated/reminders/v1/EmailChannel.ts';
export type { PushSubscription as PushSubscriptionNode } from '../generated/reminders/v1/PushSubscription.ts';
export type { Reminder as ReminderNode } from '../generated/reminders/v1/Reminder.ts';
export type { BestPredictors as BestPredictorsNode } from '../generated/scheduling/v1/BestPredictors.ts';
export type { GetOverviewResponse as OverviewNode } from '../generated/scheduling/v1/GetOverviewResponse.ts';
export type { GetPredictionResponse as PredictionNode } from '../generated/scheduling/v1/GetPredictionResponse.ts';
export type { GetRetentionResponse as RetentionNode } from '../generated/scheduling/v1/GetRetentionResponse.ts';
export type { LearnerSettings as LearnerSettingsNode } from '../generated/scheduling/v1/LearnerSettings.ts';
export type { PredictorCount as PredictorCountNode } from '../generated/scheduling/v1/PredictorCount.ts';
export type { PreviewLearnerSettingsResponse as LearnerSettingsPreviewNode } from '../generated/scheduling/v1/PreviewLearnerSettingsResponse.ts';
export type { TestClock as TestClockNode } from '../generated/scheduling/v1/TestClock.ts';

export type UserNode = User;
export type ApiKeyNode = ApiKey;
export type ReminderDeliveryNode = Delivery;
/** `isWhole`: with content and source URL, which lists leave out. */
export type MaterialNode = { userId: string; message: Material; isWhole?: boolean };
/** `material`: that of the list it stands in. */
export type ReviewNode = { userId: string; message: Review; material?: MaterialNode };
export type SnoozeNode = { userId: string; message: Snooze };
/** `materialId`: absent where it is not about materials. */
export type TimelineEventNode = {
  userId: string;
  id: string;
  kind: TimelineKind;
  timeMs: number;
  action?: string;
  actor?: string | null;
  requestId?: string | null;
  /** The key whose request it was. */
  apiKeyId?: string | undefined;
  subjectIds: readonly string[];
  snoozeId?: string | undefined;
  fields?: readonly string[];
  materialId?: string | undefined;
  review?: ReviewNode;
  snooze?: SnoozeNode;
  delivery?: Delivery;
};
export type AuditEventNode = { userId: string; event: TimelineEventNode };
export type LearnerNode = Learner;
export type RefusedApiKeyNode = { apiKey: ApiKeyNode };
export type ExpiringApiKeyNode = { apiKey: ApiKeyNode };
export type EmailOffUserNode = EmailOffUser;
export type ApiKeyRequestsNode = {
  counts: readonly KeyRequestCount[];
  refused: readonly RefusedKeyRequest[];
};
export type ApiKeyRequestCountNode = KeyRequestCount;
export type RefusedRequestNode = RefusedKeyRequest;
/** What a search found of a user; without anything else, the user. */
export type SearchHitNode = {
  user: UserNode;
  apiKey?: ApiKeyNode;
  material?: MaterialNode;
  event?: TimelineEventNode;
  refused?: RefusedRequestNode;
};
export type HardMaterialNode = { material: MaterialNode; count: RetentionCount };
/** `pagedWindow`: like `window`, without a default instant. Page tokens are bound to it, and contain the instant of the first page. */
export type StatsNode = { userId: string; window: StatsWindowInput; pagedWindow: StatsWindowInput };

/** The messages of one user as nodes. */
export function toNodes<M>(messages: readonly M[], userId: string): { userId: string; message: M }[] {
  return messages.map((message) => ({ userId, message }));
}
