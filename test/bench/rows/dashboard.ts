// What a dashboard asks about a learner in one GraphQL request, of our gateway and of PostGraphile over the same tables.
import assert from 'node:assert/strict';
import type { Bench } from '../bench.ts';
import { FULL, openCore, SMALL } from '../dataset/core.ts';
import { withClient } from '../dataset/databases.ts';
import type { Person } from '../dataset/people.ts';
import { median, ratioOf } from '../figure.ts';
import { httpRequest } from '../load/plan.ts';
import { interleave, pick } from '../measure.ts';
import {
  askGraphql,
  GATEWAY_TOKEN,
  POSTGRAPHILE,
  startGateway,
  startPostgraphile,
} from '../systems/graphql.ts';
import type { System } from '../systems/systems.ts';
import { CONNECTIONS, pace, type Row } from './row.ts';

const OURS = `query ($email: String!) { user(email: $email) { email timeZone
  dueMaterials(first: 20) { nodes { id title nextReview } }
  materials(first: 50) { nodes { id title nextReview reviews(first: 3) { nodes { quality reviewedAt } } } } } }`;

/** In its names; nothing of the data is without an instant or archived, so order and condition mean the same. */
const THEIRS = `query ($email: String!) { user: userByFoldedEmail(foldedEmail: $email) { email timeZone
  dueMaterials: schedulingMaterialsByUserId(first: 20, orderBy: [NEXT_REVIEW_TIME_ASC, MATERIAL_ID_ASC], condition: {archiveTime: null})
    { nodes { id: materialId title nextReview: nextReviewTime } }
  materials: schedulingMaterialsByUserId(first: 50, orderBy: [CREATE_TIME_DESC, MATERIAL_ID_DESC], condition: {archiveTime: null})
    { nodes { id: materialId title nextReview: nextReviewTime
        reviews: schedulingReviewsByUserIdAndMaterialId(first: 3, orderBy: [REVISION_DESC]) { nodes { quality reviewedAt: reviewTime } } } } } }`;

/** Users and materials are in two schemas without a reference; this tells PostGraphile that they belong together. */
const RELATION = `COMMENT ON TABLE scheduling.materials IS E'@foreignKey (user_id) references accounts.users (user_id)'`;

export const dashboard: Row = {
  name: 'dashboard',
  title: `dashboard query, 50 materials with their reviews, against ${POSTGRAPHILE}`,
  async measure(bench) {
    const core = await openCore(bench.databases, bench.quick ? SMALL : FULL);
    const database = await bench.databases.copyOf(core.name, 'dashboard');
    const databaseUrl = bench.databases.urlOf(database);
    const systems: System[] = [];
    try {
      await withClient(databaseUrl, (client) => client.query(RELATION));
      const options = { databaseUrl, profileFolder: bench.profileFolder };
      bench.say('dashboard: installing and starting PostGraphile');
      systems.push(await startPostgraphile(options));
      systems.push(await startGateway(options));
      await assertSameData(systems, core.readers);
      return await compare(bench, systems, core.readers);
    } finally {
      await Promise.all(systems.map((system) => system.stop()));
      await bench.databases.drop(database);
    }
  },
};

async function compare(bench: Bench, systems: readonly System[], readers: readonly Person[]) {
  const { rounds: count, warmUpMs, durationMs } = pace(bench);
  const plan = { connections: CONNECTIONS, durationMs };
  const requestsOf = (query: string) =>
    readers.map(({ email }) => httpRequest('/graphql', GATEWAY_TOKEN, { query, variables: { email } }));
  const rounds = await interleave(bench, {
    systems,
    rounds: count,
    warmUpMs,
    label: 'dashboard',
    plan: ({ name }) => ({ ...plan, requests: requestsOf(name === 'ours' ? OURS : THEIRS) }),
  });
  const [ours, theirs] = [pick(rounds, 'ours', 'cpuMs'), pick(rounds, 'PostGraphile', 'cpuMs')];
  const ratio = ratioOf(ours, theirs);
  return {
    rounds,
    figures: [
      {
        row: 'dashboard',
        label: 'dashboard query, CPU',
        unit: 'ms',
        ours: median(ours),
        judged: ratio.median,
        judgedAs: '/ PostGraphile',
        bar: { atMost: 1.5 },
        aim: 1,
        note: `PostGraphile ${median(theirs).toFixed(2)} ms; ratio ${ratio.median.toFixed(2)}, ${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)}`,
      },
    ],
  };
}

type Learner = {
  user: {
    dueMaterials: { nodes: { nextReview: string }[] };
    materials: { nodes: { nextReview: string; reviews: { nodes: { reviewedAt: string }[] } }[] };
  };
};

/** Instants are compared as such: the two write them differently. */
async function assertSameData([first, second]: readonly System[], readers: readonly Person[]): Promise<void> {
  if (first === undefined || second === undefined) throw new Error('two systems are compared');
  for (const { email } of readers.slice(0, 3)) {
    const answers: string[] = [];
    for (const system of [first, second] as const satisfies System[]) {
      const query = system.name === 'ours' ? OURS : THEIRS;
      const answer: Learner = await askGraphql(system, query, { email });
      assert.equal(answer.user.materials.nodes.length, 50);
      answers.push(
        JSON.stringify(answer, (field, value) =>
          field === 'nextReview' || field === 'reviewedAt' ? Date.parse(value) : value,
        ),
      );
    }
    assert.equal(answers[1], answers[0], 'the two answer with different data');
  }
}
