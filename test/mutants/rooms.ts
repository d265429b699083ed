// What is mutated, room by room, by which tests it is to be noticed, and how much of it.
import type { SqlShare } from './sql/shares.ts';

export type Room = {
  name: string;
  /** The share of mutants, in percent, that must be noticed. */
  bar: 90 | 97;
  /** Globs of the files that are mutated. */
  sources: readonly string[];
  /** Globs of the test files that are to notice: few, since each mutant is a run, and the quick ones first. */
  tests: readonly string[];
} & (
  | { kind: 'code' /** Whether literal texts are mutated too. */; texts: boolean }
  | { kind: 'sql' /** Of the mutants of these sources, those that are this room's. */; holds: SqlShare }
);
export type CodeRoom = Extract<Room, { kind: 'code' }>;
export type SqlRoom = Extract<Room, { kind: 'sql' }>;

const REPOSITORIES = [
  'services/accounts/**/*-repository.ts',
  'services/scheduling/**/*{-repository,-row,-sql}.ts',
];
/** The services' own tests and few of those in front of them, without those that hold figures: each is a run more. */
const SQL_TESTS = [
  'test/accounts/{accounts,orders,search,refused-keys,rotation,rows-read,user-events,users}*.test.ts',
  'test/scheduling/{,batches/}*.test.ts',
  'test/rest/{idempotency,keys}*.test.ts',
  'test/contract/page-tokens*.test.ts',
  'test/gateway/{mutations,queries,shared-reads}*.test.ts',
  '!test/scheduling/{distribute,stats,stats-plans,search-cost,long-texts-migration}.test.ts',
];

export const ROOMS: readonly Room[] = [
  {
    name: 'pure rules',
    kind: 'code',
    bar: 90,
    texts: true,
    sources: [
      'services/scheduling/materials/material.ts',
      'services/scheduling/reviews/{review,sm2}.ts',
      'services/scheduling/snoozes/{snooze,presets}.ts',
      'services/scheduling/statistics/calendar.ts',
      'services/scheduling/user-data/replay.ts',
    ],
    tests: ['test/scheduling/domain/*.test.ts'],
  },
  {
    name: 'SQL: isolation, revisions and locks',
    kind: 'sql',
    bar: 97,
    holds: 'isolation and locks',
    sources: REPOSITORIES,
    tests: SQL_TESTS,
  },
  { name: 'SQL: the rest', kind: 'sql', bar: 90, holds: 'the rest', sources: REPOSITORIES, tests: SQL_TESTS },
  {
    name: 'rpc handlers',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: [
      'services/{scheduling,accounts}/**/*-handlers.ts',
      '!services/scheduling/learners/learners-handlers.ts',
      'services/{scheduling,accounts}/**/{requests,mapper}.ts',
      'services/scheduling/**/*{-requests,-mapper}.ts',
      '!services/scheduling/user-data/user-data-handlers.ts',
    ],
    tests: [
      'test/accounts/{accounts,search,users,user-events,refused-keys}*.test.ts',
      'test/scheduling/{,batches/}*.test.ts',
      'test/contract/{grpc-values,page-tokens}*.test.ts',
      '!test/scheduling/{distribute,stats,stats-plans,search-cost,statements,long-texts,long-texts-migration}.test.ts',
    ],
  },
  {
    name: 'learners',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: [
      'services/scheduling/count-learners.ts',
      'services/scheduling/learners/{learner-days,learners-handlers,overview}.ts',
      'gateway/resolvers/learners.ts',
    ],
    tests: ['test/scheduling/{,domain/}learner*.test.ts', 'test/gateway/learners.test.ts'],
  },
  {
    name: 'search',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: ['gateway/resolvers/search.ts'],
    tests: ['test/gateway/search.test.ts'],
  },
  {
    name: 'idempotency',
    kind: 'code',
    bar: 97,
    texts: false,
    sources: [
      'services/scheduling/idempotency/idempotency.ts',
      'services/scheduling/idempotency/idempotency-repository.ts',
      'services/rest/routes/v1/responses.ts',
    ],
    tests: [
      'test/rest/idempotency*.test.ts',
      'test/scheduling/{materials,user-data,history,request-ids,same-ids}*.test.ts',
    ],
  },
  {
    name: 'key cache and scopes',
    kind: 'code',
    bar: 97,
    texts: false,
    sources: [
      'services/rest/key-verifier.ts',
      'services/rest/hooks/authenticate.ts',
      'services/accounts/{api-key,scopes,revocations}.ts',
    ],
    tests: [
      'test/rest/key-{revocations,cache}.test.ts',
      'test/accounts/accounts.test.ts',
      'test/accounts/{revocations,search}.test.ts',
      'test/rest/keys.test.ts',
      'test/contract/endpoints.test.ts',
    ],
  },
  {
    name: 'write limit',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: ['services/rest/write-limit/*.ts'],
    tests: [
      'test/rest/write-limit/{redis-client,process-log,breaker,write-limiter,same-arithmetic,redis-cluster}*.test.ts',
    ],
  },
  {
    name: 'write limit over HTTP',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: ['services/rest/hooks/write-limit.ts'],
    tests: ['test/rest/limits*.test.ts'],
  },
  {
    name: 'load shedding',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: [
      'services/platform/http/{admission,flood-detector}.ts',
      'services/platform/{concurrency,concurrency/batcher}.ts',
    ],
    tests: ['test/platform/{http-admission,flood-detector,batcher,turns,refusal-log}*.test.ts'],
  },
  {
    name: 'gateway access',
    kind: 'code',
    bar: 97,
    texts: false,
    sources: ['gateway/access/*.ts', 'gateway/limits/requested-mutations.ts'],
    tests: [
      'test/gateway/{access,audit,roles,inputs,mutations,timeline,oidc-provider,oidc-tokens,operations}.test.ts',
      'test/platform/config*.test.ts',
    ],
  },
  {
    name: 'sign-in',
    kind: 'code',
    bar: 97,
    texts: false,
    sources: ['gateway/access/oidc/*.ts', '!gateway/access/oidc/settings.ts'],
    tests: ['test/gateway/oidc*.test.ts'],
  },
  {
    name: 'gateway limits',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: ['gateway/limits/*.ts', 'gateway/graphql/refusals.ts', '!gateway/limits/requested-mutations.ts'],
    tests: [
      'test/gateway/{costs,introspection-costs,known-documents,lanes}.test.ts',
      'test/gateway/{inspection,refusal-texts}.test.ts',
      'test/gateway/{errors,limit-edges,operations}.test.ts',
      'test/gateway/limits.test.ts',
    ],
  },
  {
    name: 'reminder rules',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: [
      'services/reminders/reminders/{next-occurrence,reminder,reminder-requests}.ts',
      'services/reminders/sending/{attempt,decision,facts,next-step,reach,retries}.ts',
      'services/reminders/channels/email/smtp-outcome.ts',
      'services/reminders/channels/push/{public-address,push-outcome,subscription}.ts',
      'services/reminders/channels/calendar/{calendar-feed,content-lines,time-zone}.ts',
    ],
    tests: [
      'test/reminders/{retries,next-occurrence,sending/rules}.test.ts',
      'test/reminders/channels/{outcomes,push-rules,names,calendar}.test.ts',
      'test/reminders/{reminders,time-zones,deliveries,wrong-clock}.test.ts',
      'test/reminders/channels/{push,email}.test.ts',
      'test/reminders/sending/*.test.ts',
    ],
  },
  {
    name: 'HTTP content',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: ['services/platform/http/content/*.ts'],
    tests: ['test/platform/http-content.test.ts'],
  },
  {
    name: 'retries and replicas',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: ['services/platform/grpc/{read-retries,replicas-resolver}.ts'],
    tests: ['test/platform/{grpc/read-retries,new-replicas}.test.ts'],
  },
  {
    name: 'error codec',
    kind: 'code',
    bar: 90,
    texts: true,
    sources: [
      'services/platform/{errors,redaction}.ts',
      'services/platform/grpc/status.ts',
      'services/platform/protobuf/google-rpc.ts',
      'services/platform/postgres/{faults,reachable}.ts',
    ],
    tests: ['test/platform/{error-codec,faults}.test.ts'],
  },
  {
    name: 'error responses',
    kind: 'code',
    bar: 90,
    texts: true,
    sources: ['services/rest/hooks/errors.ts', 'gateway/graphql/errors.ts'],
    tests: [
      'test/gateway/{errors,arguments}*.test.ts',
      'test/rest/{messages,keys}*.test.ts',
      'test/contract/{bad-input,bad-http,error-reasons}*.test.ts',
    ],
  },
  {
    name: 'configuration',
    kind: 'code',
    bar: 90,
    texts: true,
    sources: [
      'services/platform/process/{config,common-config}.ts',
      'services/*/config.ts',
      'gateway/config.ts',
      'gateway/access/oidc/settings.ts',
    ],
    tests: ['test/platform/config*.test.ts'],
  },
  {
    name: 'deletion and export',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: [
      'services/scheduling/user-data/user-data-handlers.ts',
      'services/scheduling/user-data/user-data-repository.ts',
      'gateway/resolvers/user-deletion.ts',
    ],
    tests: ['test/scheduling/{user-data,deletion,export}*.test.ts', 'test/gateway/mutations*.test.ts'],
  },
];
