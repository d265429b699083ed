// Measures what counting all learners every four minutes adds to the CPU of a review.
import { writeFileSync } from 'node:fs';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { openDatabase } from '../../services/platform/postgres/database.ts';
import { runCommand, wholeNumber } from '../../services/platform/process/command.ts';
import { freePort } from '../../services/platform/process/free-port.ts';
import { createNarrator } from '../../services/platform/process/narrator.ts';
import { countLearners } from '../../services/scheduling/count-learners.ts';
import { CALL, closeClients, connectScheduling } from '../support/scheduling.ts';
import { type Bench, openBench } from './bench.ts';
import { withClient } from './dataset/databases.ts';
import { copyLearners, idOf, MATERIALS } from './dataset/learners.ts';
import { median, ratioOf } from './figure.ts';
import { startNode, untilReady } from './systems/child.ts';
import { postgresCpuMs, processesCpuMs } from './systems/cpu.ts';

const HELP = `Measures the CPU of scheduling and PostgreSQL for a review, with and without the statistics of all learners,
and how long their pages and the overview take by gRPC.

  node test/bench/learner-counts.ts [--learners 100000] [--pairs 8] [--json FILE]

Each round is what may come between two counts: 5,000 reviews by 500 learners, and one count where there are counts. Without them
the block range indexes that serve them are absent, too. A pair is one round with and one without, in alternating order.
Linux only; 3 GB in .bench, about 15 minutes, 5 of them to make the data.
`;
const LEARNERS_OF_ROUND = 500;
const AT_ONCE = 8;
const REVIEWS = MATERIALS * LEARNERS_OF_ROUND;
/** Learners who study at the same time; a count looks again at the last 20 s before the one before, less than a tenth of a round. */
const LEARNERS_OF_TENTH = LEARNERS_OF_ROUND / 10;
const LATE_MS = 20_000;
const ORDERS = [
  'LEARNER_ORDER_DUE',
  'LEARNER_ORDER_REVIEWS',
  'LEARNER_ORDER_RETENTION',
  'LEARNER_ORDER_LAST_REVIEW',
] as const;
const FILTERS = [
  'LEARNER_FILTER_UNSPECIFIED',
  'LEARNER_FILTER_BACKLOG_GROWING',
  'LEARNER_FILTER_STREAK_BROKEN',
] as const;

const options = {
  learners: { type: 'string' },
  pairs: { type: 'string' },
  json: { type: 'string' },
} as const;

await runCommand({ name: 'node test/bench/learner-counts.ts', help: HELP, options }, async (values) => {
  const pairs = wholeNumber('--pairs', values.pairs ?? '8', 1, 100);
  const learners = Math.max(
    (pairs + 1) * LEARNERS_OF_ROUND,
    wholeNumber('--learners', values.learners ?? '100000', 1, 1_000_000),
  );
  const narrator = createNarrator();
  const bench = await openBench({ quick: true, say: narrator.say, profileFolder: undefined });
  try {
    const json = `${JSON.stringify(await measure(bench, learners, pairs), null, 2)}\n`;
    process.stdout.write(json);
    if (values.json !== undefined) writeFileSync(values.json, json);
  } finally {
    await bench.close();
    narrator.end();
  }
});

async function msOf(ask: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await ask();
  return performance.now() - beganMs;
}

/** Of one review, in milliseconds: by the reviews themselves, and its share of a count. */
type Cost = { reviewMs: number; countMs: number };

async function measure(bench: Bench, learners: number, pairs: number) {
  const name = await bench.databases.cached(`learners_${learners}`, (client) =>
    copyLearners(client, learners),
  );
  const counted = await open(bench, { name, counts: true });
  const plain = await open(bench, { name, counts: false });
  const rounds: { counted: Cost[]; plain: Cost[] } = { counted: [], plain: [] };
  // The first pair warms up.
  for (let pair = 0; pair <= pairs; pair += 1) {
    bench.say(`pair ${pair} of ${pairs}`);
    const first = pair % 2 === 0 ? counted : plain;
    const other = first === counted ? plain : counted;
    const [one, two] = [await first.round(pair), await other.round(pair)];
    if (pair === 0) continue;
    rounds.counted.push(first === counted ? one : two);
    rounds.plain.push(first === counted ? two : one);
  }
  const reads = await counted.read();
  for (const { name: copy } of [counted, plain]) await bench.databases.drop(copy);
  const reviews = ({ reviewMs }: Cost) => reviewMs;
  const total = ({ reviewMs, countMs }: Cost) => reviewMs + countMs;
  return {
    learners,
    pairs,
    plainMs: median(rounds.plain.map(total)),
    countedMs: median(rounds.counted.map(total)),
    countMs: median(rounds.counted.map(({ countMs }) => countMs)),
    ratio: ratioOf(rounds.counted.map(total), rounds.plain.map(total)),
    ratioOfReviews: ratioOf(rounds.counted.map(reviews), rounds.plain.map(reviews)),
    ...reads,
  };
}

/** A copy of the database `name`, with a process of scheduling of its own. */
async function open(bench: Bench, { name, counts }: { name: string; counts: boolean }) {
  const copy = await bench.databases.copyOf(name, counts ? 'counted' : 'plain');
  const databaseUrl = bench.databases.urlOf(copy);
  const run = (sql: string) => withClient(databaseUrl, (client) => client.query(sql));
  // It would run beside some rounds and not others.
  const { rows } = await run(
    `SELECT oid::regclass AS name FROM pg_class WHERE relnamespace = 'scheduling'::regnamespace AND relkind = 'r'`,
  );
  for (const table of rows) await run(`ALTER TABLE ${table.name} SET (autovacuum_enabled = off)`);
  const logger = createLogger('bench', 'warn');
  const database = openDatabase({ databaseUrl, applicationName: 'bench', maxConnections: 1, logger });
  bench.atEnd(database.close);
  const count = async () => {
    if (!(await countLearners(database, new Date(), -LATE_MS)))
      throw new Error('another process was counting');
  };
  if (counts) {
    bench.say('the first count');
    await count();
    await run('VACUUM ANALYZE');
  } else {
    // The process counts when the latest count is four minutes old.
    await run(`INSERT INTO scheduling.overview VALUES (true, now() + interval '1 day', '{}')`);
    for (const table of ['reviews', 'material_search', 'snoozes'])
      await run(`DROP INDEX scheduling.${table}_by_time`);
  }
  const port = await freePort();
  const env = { DATABASE_URL: databaseUrl, SCHEDULING_PORT: `${port}`, LOG_LEVEL: 'warn' };
  const child = startNode({ name: copy, script: 'services/scheduling/main.ts', env });
  bench.atEnd(child.stop);
  const clients = connectScheduling(port);
  bench.atEnd(async () => closeClients(clients));
  await untilReady([child], async () => {
    await clients.reviews.listReviews({ userId: idOf('learner 0') }, CALL);
    return true;
  });
  const cpuMs = () => processesCpuMs([child.pid]) + postgresCpuMs(bench.postgres.pid);
  /** @returns when nine tenths were done. */
  const review = async (round: number): Promise<Date> => {
    let next = 0;
    let lastTenth = new Date();
    const one = async () => {
      for (let place = next++; place < REVIEWS; place = next++) {
        if (place === (REVIEWS * 9) / 10) lastTenth = new Date();
        const turn = Math.floor(place / LEARNERS_OF_TENTH);
        const tenth = Math.floor(turn / MATERIALS);
        const learner = round * LEARNERS_OF_ROUND + tenth * LEARNERS_OF_TENTH + (place % LEARNERS_OF_TENTH);
        const materialId = idOf(`material ${learner} ${turn % MATERIALS}`);
        await clients.reviews.submitReview(
          { userId: idOf(`learner ${learner}`), materialId, quality: 4 },
          CALL,
        );
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    return lastTenth;
  };
  return {
    name: copy,
    /** How long a page of 25 learners takes, in every order and with every filter, and how long the overview takes. */
    async read() {
      const pageMs: number[] = [];
      for (let turn = 0; turn < 50; turn += 1)
        for (const order of ORDERS)
          for (const filter of FILTERS)
            pageMs.push(
              await msOf(() => clients.learners.listLearners({ order, filter, pageSize: 25 }, CALL)),
            );
      const overviewMs: number[] = [];
      for (let turn = 0; turn < 50; turn += 1)
        overviewMs.push(await msOf(() => clients.learners.getOverview({}, CALL)));
      const worst = { pageMs: Math.max(...pageMs), overviewMs: Math.max(...overviewMs) };
      return { pageMs: median(pageMs), overviewMs: median(overviewMs), worst };
    },
    /** Each begins after a checkpoint, as PostgreSQL makes one every five minutes. */
    async round(number: number): Promise<Cost> {
      await run('CHECKPOINT');
      const beganMs = cpuMs();
      const lastTenth = await review(number);
      const reviewedMs = cpuMs();
      if (!counts) return { reviewMs: (reviewedMs - beganMs) / REVIEWS, countMs: 0 };
      const own = process.cpuUsage();
      // As autovacuum does for each range that is full.
      await database.query({
        text: `SELECT brin_summarize_new_values('scheduling.reviews_by_time')`,
        values: [],
      });
      await count();
      const { user, system } = process.cpuUsage(own);
      const countMs = cpuMs() - reviewedMs + (user + system) / 1000;
      const seenUntil = new Date(lastTenth.getTime() + LATE_MS);
      await database.query({ text: 'UPDATE scheduling.overview SET as_of_time = $1', values: [seenUntil] });
      return { reviewMs: (reviewedMs - beganMs) / REVIEWS, countMs: countMs / REVIEWS };
    },
  };
}
