// Random documents asked of a gateway and held against two things: what they were measured at, and graphql-js alone, with
// resolvers to which every row is the only one and every text is wanted.
import assert from 'node:assert/strict';
import { defaultFieldResolver, type GraphQLSchema, graphql, isObjectType } from 'graphql';
import type { GatewayContext } from '../../gateway/graphql/context.ts';
import { formatError } from '../../gateway/graphql/errors.ts';
import { buildGatewaySchema } from '../../gateway/graphql/schema.ts';
import { BYTES_OF_COST } from '../../gateway/limits/field-costs.ts';
import type { RequestBudget } from '../../gateway/limits/request-budget.ts';
import { createLoaders } from '../../gateway/loaders.ts';
import { viewsFor } from '../../gateway/reads/views.ts';
import type { CallOptions } from '../../services/platform/grpc/client.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import type { GraphqlAnswer, TestGateway } from './gateway.ts';
import type { Learner } from './learners.ts';
import { type DocumentOptions, type RandomDocument, randomDocument } from './random-documents.ts';

const CALL = { requestId: 'test' };

const MIN_RPCS = 4;

/**
 * Until `count` are answered; those that cost too much are refused.
 * @throws AssertionError with the document that is answered otherwise, or takes more than it was measured at
 */
export async function compareDocuments(
  gateway: TestGateway,
  learners: readonly Learner[],
  count: number,
): Promise<void> {
  const schema = buildGatewaySchema();
  const alone = rowByRow(buildGatewaySchema());
  // What a grade would do depends on the moment.
  const options = { valueFor: valuesOf(learners), without: ['ReviewPreview.schedule'] };
  let answered = 0;
  for (let seed = 1; answered < count; seed += 1) {
    const document = randomDocument(schema, seed * 7919, options);
    // Those that ask for next to nothing show next to nothing.
    if (gateway.measure(document.query, document.variables).rpcs < MIN_RPCS) continue;
    const text = JSON.stringify(document);
    let first = await askMeasured(gateway, document);
    if (first.status === 400) {
      assert.match(
        first.errors?.[0]?.message ?? '',
        /^The (query (costs|may take)|document is \d+ levels) /,
        text,
      );
      continue;
    }
    answered += 1;
    const again = await askMeasured(gateway, document);
    assert.deepEqual(again, first, text);
    first = { ...first, errors: sorted(first.errors) };
    assert.deepEqual(first, { ...first, ...(await askAlone(gateway, alone, document)) }, text);
  }
}

type Answer = Pick<GraphqlAnswer, 'status' | 'data' | 'errors'>;

/** Asks, and holds what it took against what was measured before. */
async function askMeasured(gateway: TestGateway, { query, variables }: RandomDocument): Promise<Answer> {
  const measured = gateway.measure(query, variables);
  let answer: Answer | undefined;
  const rpcs = await gateway.rpcsOf(async () => {
    const { status, data, errors } = await gateway.query(query, variables);
    answer = { status, data, errors };
  });
  assert(answer !== undefined);
  const took = {
    cost: fieldsOf(answer.data),
    rpcs: rpcs.length,
    bytes: Buffer.byteLength(JSON.stringify(answer)),
  };
  const isWithin =
    took.cost <= measured.cost && took.rpcs <= measured.rpcs && took.bytes <= measured.cost * BYTES_OF_COST;
  const text = JSON.stringify({ took, rpcs, measured, query, variables });
  assert(answer.status === 400 || isWithin, text);
  return answer;
}

/** How many fields an answer holds, in all its rows. */
export function fieldsOf(data: unknown): number {
  if (typeof data !== 'object' || data === null) return 0;
  const below = Object.values(data).reduce((sum: number, value) => sum + fieldsOf(value), 0);
  return below + (Array.isArray(data) ? 0 : Object.keys(data).length);
}

async function askAlone(
  { clients }: TestGateway,
  schema: GraphQLSchema,
  { query, variables }: RandomDocument,
): Promise<Omit<Answer, 'status'>> {
  const budget: RequestBudget = {
    read: <Q, R>(rpc: (request: Q, call: CallOptions) => Promise<R>, request: Q) => rpc(request, CALL),
    readLongTexts: (work) => work(),
    answer: (value) => value,
  };
  const contextValue: GatewayContext = {
    identity: { name: 'olga', role: 'operator' },
    call: CALL,
    beginTime: new Date(),
    clients,
    budget,
    loaders: createLoaders(clients, budget),
    views: viewsFor(new Set(['content', 'before'])),
    refused() {},
    settle: () => {},
    record: async () => {},
    logger: createLogger('test', 'silent'),
  };
  const result = await graphql({ schema, source: query, variableValues: variables, contextValue });
  const errors = result.errors?.map((error) => formatError(error.toJSON(), error)) as Answer['errors'];
  // As it is sent: graphql-js makes objects without a prototype.
  return JSON.parse(JSON.stringify({ data: result.data, errors: sorted(errors) }));
}

/** Which of two rows fails first is not said. */
function sorted(errors: Answer['errors']): Answer['errors'] {
  return errors?.toSorted((a, b) => (String(a.path) < String(b.path) ? -1 : 1));
}

/** The schema with resolvers that see nothing of what is asked for below them, so that no list reads for its rows. */
function rowByRow(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap()).filter(isObjectType)) {
    if (type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      const resolve = field.resolve ?? defaultFieldResolver;
      field.resolve = (parent, input, context, info) =>
        resolve(parent, input, context, { ...info, fieldNodes: [] });
    }
  }
  return schema;
}

/** The cursor of the nth row of any list. */
const afterRows = (rows: number) => Buffer.from(`${rows} `).toString('base64url');

function valuesOf(learners: readonly Learner[]): DocumentOptions['valueFor'] {
  return (field, argument, pick) => {
    const learner = learners[pick(learners.length)];
    if (argument === 'userId') return learner?.userId;
    if (field === 'Query.search')
      return [learner?.userId, learner?.materialIds[0], learner?.email.slice(0, 3), 'e'][pick(4)];
    if (field === 'Query.material') return learner?.materialIds[pick(learner.materialIds.length)];
    if (field === 'Query.user') return argument === 'id' ? learner?.userId : undefined;
    if (argument === 'asOf') return '2026-03-29T22:30:00Z';
    if (argument === 'first') return [1, 1, 2, 2, 3, 3, 4, 7, 30, 100][pick(10)];
    if (argument === 'after')
      return [undefined, undefined, undefined, undefined, afterRows(1), afterRows(2)][pick(6)];
    if (pick(4) === 0) return undefined;
    if (argument === 'days') return [1, 30, 366][pick(3)];
    if (argument === 'due') return pick(2) === 0;
    if (argument === 'query') return ['m', 'M1', 'of', 'none'][pick(4)];
    if (argument === 'state') return ['ACTIVE', 'ARCHIVED', 'ANY'][pick(3)];
    return undefined;
  };
}
