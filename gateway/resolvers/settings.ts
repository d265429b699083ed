// A learner's settings, their change, and what that would do.
import type { Resolvers } from '../../generated/gateway/resolvers.ts';
import { given, required, toOptionalTime } from '../mapper.ts';
import { unlessNew } from './mutation.ts';

export const settingsResolvers: Resolvers = {
  LearnerSettings: {
    parameters: ({ parameters }) =>
      parameters.length > 0 ? 'FSRS_PARAMETERS_TRAINED' : 'FSRS_PARAMETERS_DEFAULT',
    trainedAt: ({ trainTime }) => toOptionalTime(trainTime),
  },

  User: {
    settings: async ({ userId }, _arguments, { budget, clients }) =>
      required((await budget.read(clients.learners.getLearnerSettings, { userId })).settings),

    settingsPreview: ({ userId, timeZone }, changes, { budget, clients }) =>
      budget.read(clients.learners.previewLearnerSettings, { userId, timeZone, ...given(changes) }),
  },

  Mutation: {
    async updateLearnerSettings(_parent, { input }, { clients, call }) {
      // Scheduling knows neither users nor their time zones.
      const { user } = await clients.users.getUser({ userId: input.userId }, call);
      const answer = await clients.learners.updateLearnerSettings(
        { ...given(input), timeZone: required(user).timeZone },
        call,
      );
      return { settings: required(answer.settings), ...unlessNew(answer) };
    },
  },
};
