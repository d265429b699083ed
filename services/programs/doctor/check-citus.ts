// Checks a Citus cluster: whether the tables are distributed, and whether each worker is reachable and has free slots.
import type { Queryable } from '../../platform/postgres/database.ts';
import { areFunctionsDelegated, isDistributed } from '../../scheduling/distribute.ts';
import { checkNamed, type Finding } from './finding.ts';

/** Slots that a scheduling process may need on each worker, one for each of its connections. */
const NEEDED_SLOTS = 16;

const HAS_CITUS = `SELECT FROM pg_extension WHERE extname = 'citus'`;
const IS_COORDINATOR = 'SELECT citus_is_coordinator() AS coordinator';
const WORKERS = `
  SELECT nodename || ':' || nodeport AS place, isactive AS active FROM pg_dist_node
  WHERE groupid > 0 AND noderole = 'primary' ORDER BY 1`;
/** Success is false for a worker that cannot be reached. */
const SLOTS = `
  SELECT nodename || ':' || nodeport AS place, success, result
  FROM run_command_on_workers($$
    SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int - count(*)
    FROM pg_stat_activity WHERE backend_type = 'client backend'$$)`;
/** Citus up to 13.2 never frees the plans of prepared statements. Scheduling's own connections to nodes keep none. */
const PLAN_KEEPERS = `
  SELECT nodename || ':' || nodeport AS place FROM run_command_on_workers('SHOW plan_cache_mode')
  WHERE success AND result <> 'force_custom_plan'
    AND (SELECT string_to_array(split_part(extversion, '-', 1), '.')::int[] <= ARRAY[13, 2] FROM pg_extension WHERE extname = 'citus')`;

/** Nothing on plain PostgreSQL. `hasOneHost`: DATABASE_URL names only the coordinator. */
export async function checkCitus(db: Queryable, hasOneHost: boolean): Promise<Finding[]> {
  const { ok, warning, bad } = checkNamed('citus');
  const query = <R>(text: string) => db.query<R>({ text, values: [] });
  if ((await query(HAS_CITUS)).length === 0) return [];
  const [role] = await query<{ coordinator: boolean }>(IS_COORDINATOR);
  if (role?.coordinator !== true)
    return [
      bad('DATABASE_URL names a worker first', 'name the coordinator first: it has accounts and reminders'),
    ];
  if (!(await isDistributed(db)))
    return [warning('the tables are not distributed', 'run npm run migrate -- --distribute')];
  const delegated = (await areFunctionsDelegated(db))
    ? ok('distributed, and functions run on the nodes of their users')
    : warning('functions run on the coordinator', 'run npm run migrate -- --distribute once more');
  const workers = await query<{ place: string; active: boolean }>(WORKERS);
  const slots = await query<{ place: string; success: boolean; result: string }>(SLOTS);
  const keepers = hasOneHost ? await query<{ place: string }>(PLAN_KEEPERS) : [];
  const found = workers.flatMap(({ place, active }) => {
    const { ok, warning, bad } = checkNamed(`citus ${place}`);
    const answer = slots.find((each) => each.place === place);
    if (!active || answer?.success !== true)
      return bad('not reachable from the coordinator', 'start this worker, or open the way to it');
    const free = `${answer.result} connections are free; one scheduling may need ${NEEDED_SLOTS}`;
    const leak = warning(
      'keeps plans that Citus never frees, since DATABASE_URL names only the coordinator',
      "name all nodes in DATABASE_URL, or run ALTER SYSTEM SET plan_cache_mode = 'force_custom_plan' and SELECT pg_reload_conf() on this worker",
    );
    return [
      Number(answer.result) >= NEEDED_SLOTS
        ? ok(free)
        : warning(free, 'raise max_connections of this worker'),
      ...(keepers.some((each) => each.place === place) ? [leak] : []),
    ];
  });
  return [delegated, ...found];
}
