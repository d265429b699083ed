// Maps between reviews and the messages of scheduling.v1.
import type { ReviewInput } from '../../../generated/scheduling/v1/Review.ts';
import type { ReviewView as ReviewViewMessage } from '../../../generated/scheduling/v1/ReviewView.ts';
import type { ScheduleInput } from '../../../generated/scheduling/v1/Schedule.ts';
import { toOptionalTimestamp, toTimestamp } from '../../platform/protobuf/timestamps.ts';
import { fromEnum, toScheduleNumbers, type View } from '../mapper.ts';
import type { Review, ReviewSummary, ScheduleAt } from './review.ts';

export const fromReviewView = fromEnum<ReviewViewMessage, View>('view', {
  REVIEW_VIEW_UNSPECIFIED: 'full',
  REVIEW_VIEW_BASIC: 'basic',
  REVIEW_VIEW_FULL: 'full',
});

export function toScheduleMessage(schedule: ScheduleAt): ScheduleInput {
  return { ...toScheduleNumbers(schedule), nextReviewTime: toOptionalTimestamp(schedule.nextReviewTime) };
}

/** A summary has no schedules and no request ID. */
export function toReviewMessage(review: Review | ReviewSummary): ReviewInput {
  const message: ReviewInput = {
    reviewId: review.reviewId,
    materialId: review.materialId,
    quality: review.quality,
    reviewTime: toTimestamp(review.reviewTime),
    revision: review.revision,
  };
  if ('before' in review) {
    message.requestId = review.requestId ?? '';
    message.before = toScheduleMessage(review.before);
    message.after = toScheduleMessage(review.after);
  }
  return message;
}
