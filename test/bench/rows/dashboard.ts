// What a dashboard asks about a learner in one GraphQL request, of our gateway and of PostGraphile over the same tables.
import assert from 'node:assert/strict';
import type { Bench } from '../bench.ts';
import { FULL, openCore, SMALL } from '../dataset/core.ts';
import { withClient } from '../dataset/databases.ts';
import type { Person } from '../dataset/people.ts';
import { httpRequest } from '../load/plan.ts';
import { interleave } from '../measure.ts';
import {
  askGraphql,
  GATEWAY_TOKEN,
  POSTGRAPHILE,
  startGateway,
  startPostgraphile,
} from '../systems/graphql.ts';
import type { System } from '../systems/systems.ts';
import { CONNECTIONS, inTurn, type Row } from './row.ts';

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
    const { against, profileFolder } = bench;
    const database = await bench.databases.copyOf(core.name, 'dashboard');
    const databases = [database];
    const systems: System[] = [];
    try {
      const options = { databaseUrl: bench.databases.urlOf(database), profileFolder };
      await withClient(options.databaseUrl, (client) => client.query(RELATION));
      bench.say('dashboard: installing and starting PostGraphile');
      systems.push(await startPostgraphile(options));
      systems.push(await startGateway('ours', options));
      systems.push(await startGateway('one process', options));
      if (against !== undefined) {
        const { name } = await openCore(against.databases, bench.quick ? SMALL : FULL);
        const itsDatabase = await against.databases.copyOf(name, 'dashboard_before');
        databases.push(itsDatabase);
        const databaseUrl = against.databases.urlOf(itsDatabase);
        const before = await startGateway('ours', { databaseUrl, folder: against.folder, profileFolder });
        systems.push({ ...before, name: 'ours, before' });
      }
      await assertSameData(systems, core.readers);
      return await compare(bench, systems, core.readers);
    } finally {
      await Promise.all(systems.map((system) => system.stop()));
      for (const each of databases) await bench.databases.drop(each);
    }
  },
};

async function compare(bench: Bench, systems: readonly System[], readers: readonly Person[]) {
  const { rounds: count, warmUpMs, durationMs } = bench.pace;
  const plan = { connections: CONNECTIONS, durationMs };
  const requestsOf = (query: string) =>
    readers.map(({ email }) => httpRequest('/graphql', GATEWAY_TOKEN, { query, variables: { email } }));
  const rounds = await interleave(bench, {
    systems,
    rounds: count,
    warmUpMs,
    label: 'dashboard',
    plan: ({ name }) => ({ ...plan, requests: requestsOf(name === 'PostGraphile' ? THEIRS : OURS) }),
  });
  const measured = { row: 'dashboard', label: 'dashboard query, CPU', figure: 'cpuMs' } as const;
  const oneProcess = { ...measured, label: `${measured.label}, one process` };
  return {
    rounds,
    figures: [
      { ...inTurn(rounds, measured, ['ours', 'PostGraphile']), bar: { atMost: 1.5 }, aim: 1 },
      inTurn(rounds, oneProcess, ['one process', 'PostGraphile']),
      ...(bench.against ? [inTurn(rounds, measured, ['ours', 'ours, before'])] : []),
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
async function assertSameData(systems: readonly System[], readers: readonly Person[]): Promise<void> {
  for (const { email } of readers.slice(0, 3)) {
    const answers: string[] = [];
    for (const system of systems) {
      const query = system.name === 'PostGraphile' ? THEIRS : OURS;
      const answer: Learner = await askGraphql(system, query, { email });
      assert.equal(answer.user.materials.nodes.length, 50);
      answers.push(
        JSON.stringify(answer, (field, value) =>
          field === 'nextReview' || field === 'reviewedAt' ? Date.parse(value) : value,
        ),
      );
    }
    for (const [index, answer] of answers.entries())
      assert.equal(answer, answers[0], `${systems[index]?.name} answers with other data`);
  }
}
