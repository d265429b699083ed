// A prediction as a message.
import type { GetPredictionResponseInput } from '../../../generated/scheduling/v1/GetPredictionResponse.ts';
import { toOptionalTimestamp } from '../../platform/instants.ts';
import { toPredictorMessage } from '../messages.ts';
import type { Prediction, Training } from './prediction.ts';

export function toPredictionMessage(
  { reviews, scores, best, recallNow, recallWhenSm2Asks }: Prediction,
  training: Training | null,
): GetPredictionResponseInput {
  return {
    reviews,
    scores: scores.map(({ predictor, auc, bins, ...score }) => ({
      ...score,
      predictor: toPredictorMessage(predictor),
      ...(auc !== null && { auc }),
      bins: [...bins],
    })),
    best: toPredictorMessage(best),
    recallNow,
    ...(recallWhenSm2Asks !== null && { recallWhenSm2Asks }),
    trainTime: toOptionalTimestamp(training?.trainTime ?? null),
    trainReviews: training?.reviews ?? 0,
  };
}
