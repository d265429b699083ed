// The schema with its resolvers.
import { makeExecutableSchema } from '@graphql-tools/schema';
import type { GraphQLSchema } from 'graphql';
import type { Resolvers } from '../../generated/gateway/resolvers.ts';
import { auditMutations } from '../access/audited-mutations.ts';
import { requireStorableArguments } from '../access/storable-arguments.ts';
import { EmailOffUser } from '../resolvers/attention.ts';
import { Learner, Overview } from '../resolvers/learners.ts';
import { Material, Review, Snooze } from '../resolvers/material.ts';
import { Mutation } from '../resolvers/mutation.ts';
import { Query } from '../resolvers/query.ts';
import { reminderMutations } from '../resolvers/reminder-mutations.ts';
import {
  CalendarFeed,
  EmailReminders,
  PushSubscription,
  Reminder,
  ReminderDelivery,
  remindersOfUser,
} from '../resolvers/reminders.ts';
import { Stats } from '../resolvers/stats.ts';
import { TimelineEvent } from '../resolvers/timeline.ts';
import { ApiKey, User } from '../resolvers/user.ts';
import { CalendarDate, DateTime } from './scalars.ts';
import { readTypeDefinitions } from './type-definitions.ts';

export function buildGatewaySchema(): GraphQLSchema {
  const resolvers: Resolvers = {
    DateTime,
    Date: CalendarDate,
    Query,
    Mutation: { ...Mutation, ...reminderMutations },
    User: { ...User, ...remindersOfUser },
    ApiKey,
    Material,
    Review,
    Snooze,
    TimelineEvent,
    Stats,
    Overview,
    Learner,
    EmailOffUser,
    Reminder,
    ReminderDelivery,
    PushSubscription,
    CalendarFeed,
    EmailReminders,
  };
  const schema = makeExecutableSchema({ typeDefs: readTypeDefinitions(), resolvers });
  requireStorableArguments(schema);
  auditMutations(schema);
  return schema;
}
