// What is mutated, room by room, by which tests it is to be noticed, and how much of it.
import type { SqlShare } from './sql/shares.ts';

export type Room = {
  name: string;
  /** The share of mutants, in percent, that must be noticed. */
  bar: 90 | 97;
  /** Globs of the files that are mutated. */
  sources: readonly string[];
  /** Globs of the test files that are to notice. Few and quick ones, since each mutant is a run. */
  tests: readonly string[];
} & (
  | { kind: 'code' /** Whether literal texts are mutated too. */; texts: boolean }
  | { kind: 'sql' /** Of the mutants of these sources, those that are this room's. */; holds: SqlShare }
);
export type CodeRoom = Extract<Room, { kind: 'code' }>;
export type SqlRoom = Extract<Room, { kind: 'sql' }>;

const REPOSITORIES = ['services/{scheduling,accounts}/repositories/**/*.ts'];
/** The services' own tests and few of those in front of them, without those that hold figures: each is a run more. */
const SQL_TESTS = [
  'test/accounts/accounts*.test.ts',
  'test/scheduling/*.test.ts',
  'test/rest/{idempotency,keys}*.test.ts',
  'test/contract/page-tokens*.test.ts',
  'test/gateway/{mutations,queries,strangers}*.test.ts',
  '!test/scheduling/{distribute,stats,stats-plans,search-cost,long-texts-migration}.test.ts',
];

export const ROOMS: readonly Room[] = [
  {
    name: 'pure rules',
    kind: 'code',
    bar: 90,
    texts: true,
    sources: ['services/scheduling/domain/*.ts'],
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
      'services/{scheduling,accounts}/handlers/*.ts',
      'services/{scheduling,accounts}/{requests,wire}.ts',
      'services/scheduling/{stats-requests,stats-wire}.ts',
      '!services/scheduling/handlers/{once,user-data-handlers}.ts',
    ],
    tests: [
      'test/accounts/accounts*.test.ts',
      'test/scheduling/*.test.ts',
      'test/contract/{grpc-values,page-tokens}*.test.ts',
      '!test/scheduling/{distribute,stats,stats-plans,search-cost,statements,long-texts,long-texts-migration}.test.ts',
    ],
  },
  {
    name: 'idempotency',
    kind: 'code',
    bar: 97,
    texts: false,
    sources: [
      'services/scheduling/handlers/once.ts',
      'services/scheduling/repositories/answered-requests-repository.ts',
      'services/rest/routes/v1/replayed.ts',
    ],
    tests: [
      'test/rest/idempotency*.test.ts',
      'test/scheduling/*idempoten*.test.ts',
      'test/scheduling/{materials,user-data,history}*.test.ts',
    ],
  },
  {
    name: 'key cache and scopes',
    kind: 'code',
    bar: 97,
    texts: false,
    sources: [
      'services/rest/key-verifier.ts',
      'services/rest/plugins/authenticate.ts',
      'services/accounts/{api-key,scopes,revocations}.ts',
    ],
    tests: [
      'test/rest/{key,revocation}*.test.ts',
      'test/accounts/{accounts,key,scope}*.test.ts',
      'test/contract/endpoints*.test.ts',
    ],
  },
  {
    name: 'write limit',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: ['services/rest/write-limit/*.ts', 'services/rest/plugins/write-limit.ts'],
    tests: ['test/rest/write-limit/write-limiter*.test.ts', 'test/rest/limits*.test.ts'],
  },
  {
    name: 'load shedding',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: ['services/platform/{http-admission,flood-watch,at-most,in-turn,coalesce}.ts'],
    tests: ['test/platform/{http-admission,flood-watch,coalesce,in-turn,at-most}*.test.ts'],
  },
  {
    name: 'gateway access and limits',
    kind: 'code',
    bar: 97,
    texts: false,
    sources: ['gateway/access/*.ts', 'gateway/limits/*.ts', 'gateway/refusals.ts'],
    tests: ['test/gateway/{access,limits,mutations,inputs,known-documents,requests}*.test.ts'],
  },
  {
    name: 'error codec',
    kind: 'code',
    bar: 90,
    texts: true,
    sources: [
      'services/platform/{errors,grpc-status,google-rpc,postgres-faults}.ts',
      'services/rest/plugins/errors.ts',
      'gateway/errors.ts',
    ],
    tests: [
      'test/gateway/errors*.test.ts',
      'test/rest/{messages,keys}*.test.ts',
      'test/contract/{bad-input,bad-http}*.test.ts',
      'test/platform/{grpc-client,error,given-up-statements,postgres}*.test.ts',
    ],
  },
  {
    name: 'configuration',
    kind: 'code',
    bar: 90,
    texts: true,
    sources: ['services/platform/{config,common-config}.ts', 'services/*/config.ts', 'gateway/config.ts'],
    tests: ['test/platform/config*.test.ts', 'test/{accounts,rest,gateway,scheduling}/config*.test.ts'],
  },
  {
    name: 'deletion and export',
    kind: 'code',
    bar: 90,
    texts: false,
    sources: [
      'services/scheduling/handlers/user-data-handlers.ts',
      'services/scheduling/repositories/user-data-repository.ts',
      'gateway/user-deletion.ts',
    ],
    tests: ['test/scheduling/user-data*.test.ts', 'test/gateway/{mutations,user-deletion}*.test.ts'],
  },
];
