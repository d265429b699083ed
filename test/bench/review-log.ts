// Measures the review log at a size: what it costs to write, to read and to shorten, as it is and parted by month.
import { writeFileSync } from 'node:fs';
import { runCommand, wholeNumber } from '../../services/platform/process/command.ts';
import { createNarrator, type Say } from '../../services/platform/process/terminal.ts';
import { copyRows, TABLES } from './dataset/copy.ts';
import { buildParted, deleteMonth, dropMonth, sizesOf, swapIn } from './review-log/forms.ts';
import { type Learner, learnersFor, materialRows, REVIEWS, reviewRows } from './review-log/history.ts';
import { measureReads } from './review-log/reads.ts';
import { FAST, openServer, SAFE, type Server } from './review-log/server.ts';
import { measureWrites } from './review-log/writes.ts';

const HELP = `Measures the review log: size, cost of a review, of lists and statistics, of retention; plain and parted by month.

  node test/bench/review-log.ts [--rows 10000000] [--json FILE]

Linux only. Takes 8 GB of the temporary directory and about 20 minutes at 10,000,000 rows, and removes what it made.
`;

const options = { rows: { type: 'string', default: '10000000' }, json: { type: 'string' } } as const;

await runCommand({ name: 'node test/bench/review-log.ts', help: HELP, options }, async (values) => {
  const rows = wholeNumber('--rows', values.rows, 1, 999_999_999);
  const narrator = createNarrator();
  const server = await openServer();
  const interrupt = () => void server.stop().finally(() => process.exit(130));
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  try {
    const outcome = await measure(server, learnersFor(rows), narrator.say);
    const json = `${JSON.stringify({ time: new Date().toISOString(), ...outcome }, null, 2)}\n`;
    narrator.end();
    process.stdout.write(json);
    if (values.json !== undefined) writeFileSync(values.json, json);
  } finally {
    await server.stop();
    narrator.end();
  }
});

async function measure(server: Server, learners: Learner[], say: Say) {
  const { client, cost } = server;
  const table = 'scheduling.reviews';
  say('loading');
  await server.set(FAST);
  // Foreign keys are not checked row by row while the year is loaded; the reviews that are measured are.
  await client.query('SET session_replication_role = replica');
  await copyRows(client, TABLES.materials, materialRows(learners));
  const load = await cost(() => copyRows(client, REVIEWS, reviewRows(learners)));
  await client.query('SET session_replication_role = DEFAULT');
  await client.query('VACUUM ANALYZE');
  const rows = await count(server, table);
  const plain = { load, sizes: await sizesOf(server, table), ...(await readAndWrite(server, learners, say)) };

  say('parting by month');
  await server.set(FAST);
  await client.query('SET session_replication_role = replica');
  const parting = await buildParted(server);
  await client.query('SET session_replication_role = DEFAULT');
  await server.set(SAFE);
  await client.query('CHECKPOINT');
  say('deleting a month');
  const deleted = await deleteMonth(server);
  await swapIn(server);
  await client.query('VACUUM ANALYZE');
  const sizes = await sizesOf(server, table);
  const parted = { load: parting, sizes, ...(await readAndWrite(server, learners, say)) };
  const dropped = await dropMonth(server);
  return {
    rows,
    learners: learners.length,
    plain: { ...plain, retention: deleted },
    parted: { ...parted, retention: { drop: dropped } },
  };
}

async function readAndWrite(server: Server, learners: Learner[], say: Say) {
  say('reading');
  const reads = await measureReads(server, learners);
  say('writing');
  return { reads, writes: await measureWrites(server, learners) };
}

async function count({ client }: Server, table: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`);
  return rows[0]?.count ?? 0;
}
