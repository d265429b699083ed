// A prediction as a message.
import type { GetPredictionResponseInput } from '../../../generated/scheduling/v1/GetPredictionResponse.ts';
import type { Predictor as PredictorMessage } from '../../../generated/scheduling/v1/Predictor.ts';
import { toOptionalTimestamp } from '../../platform/protobuf/timestamps.ts';
import type { Prediction, Predictor, Training } from './prediction.ts';

const NAME_OF: Record<Predictor, PredictorMessage> = {
  sm2: 'PREDICTOR_SM2',
  average: 'PREDICTOR_AVERAGE',
  movingAverage: 'PREDICTOR_MOVING_AVERAGE',
  fsrs: 'PREDICTOR_FSRS',
  fsrsTrained: 'PREDICTOR_FSRS_TRAINED',
};

export function toPredictionMessage(
  { reviews, scores, best, recallNow, recallWhenSm2Asks }: Prediction,
  training: Training | null,
): GetPredictionResponseInput {
  return {
    reviews,
    scores: scores.map(({ predictor, auc, bins, ...score }) => ({
      ...score,
      predictor: NAME_OF[predictor],
      ...(auc !== null && { auc }),
      bins: [...bins],
    })),
    best: best === null ? 'PREDICTOR_UNSPECIFIED' : NAME_OF[best],
    recallNow,
    ...(recallWhenSm2Asks !== null && { recallWhenSm2Asks }),
    trainTime: toOptionalTimestamp(training?.trainTime ?? null),
    trainReviews: training?.reviews ?? 0,
  };
}
