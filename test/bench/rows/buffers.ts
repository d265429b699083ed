// How many pages the due query touches for a user with a million materials, against one with two hundred.
import type { Client } from 'pg';
import type { Statement } from '../../../services/platform/postgres/database.ts';
import { listDueMaterials, SHARED_BYTES } from '../../../services/scheduling/materials/sql.ts';
import { withClient } from '../dataset/databases.ts';
import { FEW, openDepth } from '../dataset/depth.ts';
import type { Person } from '../dataset/people.ts';
import type { Row } from './row.ts';

const PAGE_SIZE = 20;

export const buffers: Row = {
  name: 'buffers',
  title: 'pages that the due query touches, 1,000,000 materials against 200',
  async measure(bench) {
    const many = bench.quick ? 50_000 : 1_000_000;
    const { name, rich, poor } = await openDepth(bench.databases, many);
    const [ofRich, ofPoor] = await withClient(bench.databases.urlOf(name), async (client) => [
      await touchedBy(client, await dueStatement(rich)),
      await touchedBy(client, await dueStatement(poor)),
    ]);
    return {
      figures: [
        {
          row: 'buffers',
          label: `shared buffers of the due query, ${many.toLocaleString('en')} materials`,
          unit: 'pages',
          ours: ofRich,
          judged: ofRich / ofPoor,
          judgedAs: `/ ${FEW} materials`,
          bar: { atMost: 1.15 },
          aim: 1,
          note: `${FEW} materials: ${ofPoor} pages`,
        },
      ],
    };
  },
};

/** The very statement that the repository sends, as recorded. */
async function dueStatement({ userId }: Person): Promise<Statement> {
  const sent: Statement[] = [];
  const recorder = {
    async query<R>(statement: Statement): Promise<R[]> {
      sent.push(statement);
      return [];
    },
  };
  await listDueMaterials(recorder, [
    {
      userId,
      asOf: new Date(),
      maxBytes: SHARED_BYTES,
      maxRows: PAGE_SIZE + 1,
      after: undefined,
    },
  ]);
  const [statement] = sent;
  if (statement === undefined) throw new Error('the repository sent no statement');
  return statement;
}

/** Planned as the service's pool has it planned: as a prepared statement, after several runs. */
async function touchedBy(client: Client, { text, values }: Statement): Promise<number> {
  await client.query(`PREPARE due AS ${text}`);
  const literals = values.map((value) =>
    client.escapeLiteral(value instanceof Date ? value.toISOString() : String(value)),
  );
  const run = `EXECUTE due(${literals.join(', ')})`;
  for (let turn = 0; turn < 6; turn += 1) await client.query(run);
  const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${run}`);
  await client.query('DEALLOCATE due');
  const plan = rows[0]['QUERY PLAN'][0].Plan;
  return Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks']);
}
