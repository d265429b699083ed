// The schema with its resolvers.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeExecutableSchema } from '@graphql-tools/schema';
import type { GraphQLSchema } from 'graphql';
import type { Resolvers } from '../../generated/gateway/resolvers.ts';
import { auditMutations } from '../access/audited-mutations.ts';
import { requireStorableArguments } from '../access/storable-arguments.ts';
import { Material, Review, ReviewPreview, Schedule, Snooze } from '../resolvers/material.ts';
import { Mutation } from '../resolvers/mutation.ts';
import { Query } from '../resolvers/query.ts';
import { HardMaterial, RetentionCount, Stats } from '../resolvers/stats.ts';
import { ApiKey, User } from '../resolvers/user.ts';
import { CalendarDate, DateTime } from './scalars.ts';

export function buildGatewaySchema(): GraphQLSchema {
  const resolvers: Resolvers = {
    DateTime,
    Date: CalendarDate,
    Query,
    Mutation,
    User,
    ApiKey,
    Material,
    Review,
    Schedule,
    ReviewPreview,
    Snooze,
    Stats,
    HardMaterial,
    RetentionCount,
  };
  const folder = join(import.meta.dirname, '../schema');
  const typeDefs = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  const schema = makeExecutableSchema({ typeDefs, resolvers });
  requireStorableArguments(schema);
  auditMutations(schema);
  return schema;
}
