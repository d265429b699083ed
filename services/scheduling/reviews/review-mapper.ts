// Maps between reviews and the messages of scheduling.v1.
import type { ReviewInput } from '../../../generated/scheduling/v1/Review.ts';
import type { ReviewView as ReviewViewMessage } from '../../../generated/scheduling/v1/ReviewView.ts';
import type { ScheduleInput } from '../../../generated/scheduling/v1/Schedule.ts';
import { toOptionalTimestamp, toTimestamp } from '../../platform/protobuf/timestamps.ts';
import { fromEnum, toScheduleNumbers, type View } from '../mapper.ts';
import type { Review, ReviewGrade, ReviewSummary, ScheduleAt } from './review.ts';

export const fromReviewView = fromEnum<ReviewViewMessage, View | 'grade'>('view', {
  REVIEW_VIEW_UNSPECIFIED: 'full',
  REVIEW_VIEW_BASIC: 'basic',
  REVIEW_VIEW_FULL: 'full',
  REVIEW_VIEW_GRADE: 'grade',
});

export function toScheduleMessage(schedule: ScheduleAt): ScheduleInput {
  return { ...toScheduleNumbers(schedule), nextReviewTime: toOptionalTimestamp(schedule.nextReviewTime) };
}

/** A summary has no schedules and no request ID; a grade has its time and nothing else. */
export function toReviewMessage(review: Review | ReviewSummary | ReviewGrade): ReviewInput {
  const { quality } = review;
  const reviewTime = toTimestamp(review.reviewTime);
  if (!('reviewId' in review)) return { quality, reviewTime };
  const { reviewId, materialId, revision } = review;
  const message: ReviewInput = { reviewId, materialId, quality, reviewTime, revision };
  if ('before' in review) {
    message.requestId = review.requestId ?? '';
    message.before = toScheduleMessage(review.before);
    message.after = toScheduleMessage(review.after);
  }
  return message;
}
