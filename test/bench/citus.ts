// CPU of all PostgreSQL processes per request, one request at a time, in alternating rounds: plain PostgreSQL, and Citus
// entered at the coordinator.
// CITUS_URL=postgres://... PLAIN_URL=postgres://... node test/bench/citus.ts [review snooze ...]
// Both databases must be empty or made by an earlier run; CITUS_URL names the coordinator, on this machine. Needs superusers.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { migrate } from '../../services/platform/postgres/migrate.ts';
import { distributeScheduling } from '../../services/scheduling/distribute.ts';
import { schedulingSchema, startScheduling } from '../../services/scheduling/service.ts';
import { CALL, closeClients, connectScheduling } from '../support/scheduling.ts';
import { median, ratioOf } from './figure.ts';
import { postgresCpuMs } from './systems/cpu.ts';

const USERS = 40;
const MATERIALS = 300;
const ROUNDS = 15;
const REQUESTS = 400;
const AT_ONCE = 1;
const logger = createLogger('bench-citus', 'error');

type Learner = { userId: string; materialIds: string[] };
type System = Awaited<ReturnType<typeof open>>;

/** The postmaster of a server on this machine, and the addresses of its Citus workers, if it has any. */
async function serverOf(databaseUrl: string): Promise<{ pid: number; workers: string[] }> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query(`SELECT current_setting('data_directory') AS folder`);
  const { rowCount } = await client.query(`SELECT FROM pg_extension WHERE extname = 'citus'`);
  const nodes = rowCount
    ? (await client.query('SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0')).rows
    : [];
  await client.end();
  const workers = nodes.map(({ nodename, nodeport }) => {
    const url = new URL(databaseUrl);
    url.host = `${nodename}:${nodeport}`;
    return url.href;
  });
  const pid = Number(readFileSync(join(rows[0].folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
  return { pid, workers };
}

async function open(databaseUrl: string) {
  await migrate({ databaseUrl, ...schedulingSchema, logger });
  await distributeScheduling(databaseUrl);
  const { pid, workers } = await serverOf(databaseUrl);
  const pids = [pid, ...(await Promise.all(workers.map(serverOf))).map((worker) => worker.pid)];
  const service = await startScheduling({
    config: {
      ...{ databaseUrl, logLevel: 'error', shutdownTimeoutMs: 2000, host: '127.0.0.1', port: 0 },
      trust: { serviceTokens: [], tls: undefined },
    },
    logger,
    now: () => new Date(),
  });
  const clients = connectScheduling(service.port);
  const learners = await populate(databaseUrl);
  return {
    ...clients,
    learners,
    cpuMs: () => pids.reduce((sum, pid) => sum + postgresCpuMs(pid), 0),
    async close() {
      closeClients(clients);
      await service.close(1000);
    },
  };
}

async function populate(databaseUrl: string): Promise<Learner[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const learners: Learner[] = [];
  for (let user = 0; user < USERS; user += 1) {
    const userId = randomUUID();
    const materialIds = Array.from({ length: MATERIALS }, () => randomUUID());
    await client.query(
      `INSERT INTO scheduling.materials (user_id, material_id, title, content, type, ease_factor_hundredths, interval_days,
         repetitions, next_review_time, create_time, update_time)
       SELECT $1, m.id, 'Material ' || m.n, md5(m.n::text), 'card', 250, 0, 0, now() - interval '1 day', now(), now()
       FROM unnest($2::uuid[]) WITH ORDINALITY AS m (id, n)`,
      [userId, materialIds],
    );
    await client.query(
      `INSERT INTO scheduling.material_search (user_id, material_id, create_time, title, content, source_url)
       SELECT user_id, material_id, create_time, lower(title), content, '' FROM scheduling.materials WHERE user_id = $1`,
      [userId],
    );
    learners.push({ userId, materialIds });
  }
  await client.query('ANALYZE scheduling.materials, scheduling.material_search');
  await client.end();
  return learners;
}

const TOMORROW = { seconds: `${Math.floor(Date.now() / 1000) + 86_400}`, nanos: 0 };

const LOADS: Record<string, (system: System, learner: Learner, number: number) => Promise<unknown>> = {
  review: ({ reviews }, { userId, materialIds }, number) =>
    reviews.submitReview({ userId, materialId: materialIds[number % MATERIALS] ?? '', quality: 4 }, CALL),
  snooze: ({ snoozes }, { userId, materialIds }, number) => {
    const snoozeUntilTime = TOMORROW;
    return snoozes.snoozeMaterials(
      { userId, materialIds: [materialIds[number % MATERIALS] ?? ''], snoozeUntilTime },
      CALL,
    );
  },
  create: ({ materials }, { userId }, number) =>
    materials.createMaterial({ userId, title: `New ${number}`, content: 'Some text to remember' }, CALL),
  // Longer than what is first sought among the newest materials.
  search: ({ materials }, { userId }, number) =>
    materials.listMaterials({ userId, query: `${number}`.padEnd(300, 'absent ') }, CALL),
  due: ({ materials }, { userId }) => materials.listDueMaterials({ userId, pageSize: 20 }, CALL),
  list: ({ materials }, { userId }) => materials.listMaterials({ userId, pageSize: 20 }, CALL),
};

let number = 0;
async function round(system: System, load: (typeof LOADS)[string]): Promise<number> {
  const before = system.cpuMs();
  let left = REQUESTS;
  const client = async () => {
    while (left > 0) {
      left -= 1;
      number += 1;
      const learner = system.learners[number % USERS];
      if (learner === undefined) throw new Error('no learner');
      await load(system, learner, Math.floor(number / USERS));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  return (system.cpuMs() - before) / REQUESTS;
}

const { CITUS_URL, PLAIN_URL } = process.env;
if (!CITUS_URL || !PLAIN_URL) throw new Error('set CITUS_URL and PLAIN_URL');
const only = process.argv.slice(2);
const systems = [await open(PLAIN_URL), await open(CITUS_URL)];
for (const [name, load] of Object.entries(LOADS)) {
  if (only.length > 0 && !only.includes(name)) continue;
  const spent: number[][] = systems.map(() => []);
  for (let index = -1; index < ROUNDS; index += 1)
    for (const [place, system] of systems.entries()) {
      const each = await round(system, load);
      if (index >= 0) spent[place]?.push(each);
    }
  const [plain = [], citus = []] = spent;
  const { median: ratio, min, max } = ratioOf(citus, plain);
  process.stdout.write(
    `${name.padEnd(8)} plain ${median(plain).toFixed(3)} ms, Citus ${median(citus).toFixed(3)} ms, ${ratio.toFixed(2)} x (${min.toFixed(2)} to ${max.toFixed(2)})\n`,
  );
}
for (const system of systems) await system.close();
