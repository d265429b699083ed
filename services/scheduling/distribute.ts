// Distributes the scheduling tables of a Citus cluster by user_id, so that all rows of a user are on one node.
import type { Client } from 'pg';
import { DISTRIBUTION_LOCK, withConnection } from '../platform/postgres/connection.ts';
import type { Queryable } from '../platform/postgres/database.ts';

/** Referenced tables before referencing ones; the others are colocated with the first. */
export const DISTRIBUTED_TABLES = [
  'scheduling.materials',
  'scheduling.material_search',
  'scheduling.material_labels',
  'scheduling.imported_materials',
  'scheduling.reviews',
  'scheduling.snoozes',
  'scheduling.snoozed_materials',
  'scheduling.answered_requests',
  'scheduling.deleted_users',
  'scheduling.changed_learners',
  'scheduling.learners',
  'scheduling.learner_settings',
  'scheduling.undone_reviews',
  'scheduling.test_clocks',
  'scheduling.learner_predictions',
] as const;

/** Functions are created on every node first, since indexes can use them. */
const CREATE_FUNCTIONS = `
  SELECT create_distributed_function(oid::regprocedure) FROM (
    SELECT oid FROM pg_proc WHERE pronamespace = 'scheduling'::regnamespace AND prokind = 'f' ORDER BY oid) AS ours`;

/** Functions about one user, which is their first argument: Citus runs them on the node with the user's rows. */
const DELEGATE = `
  SELECT create_distributed_function(oid::regprocedure, proargnames[1], colocate_with => '${DISTRIBUTED_TABLES[0]}')
  FROM pg_proc
  WHERE pronamespace = 'scheduling'::regnamespace AND proname IN ('apply_review', 'insert_material')`;

type Distribution = { state: 'no-citus' } | { state: 'distributed'; tables: string[] };

/**
 * Distributes the remaining tables atomically, and delegates functions; the schema must be migrated. Writes wait until the end.
 * @returns the tables that this run distributed; `no-citus` if the extension is not installed.
 */
export async function distributeScheduling(databaseUrl: string): Promise<Distribution> {
  const config = { connectionString: databaseUrl, application_name: 'scheduling-distribute' };
  // Closing the connection rolls back an open transaction.
  return withConnection(config, async (client) => {
    const { rowCount } = await client.query(`SELECT FROM pg_extension WHERE extname = 'citus'`);
    if (rowCount === 0) return { state: 'no-citus' };
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock($1)', [DISTRIBUTION_LOCK]);
    const tables = await distribute(client);
    await client.query('COMMIT');
    // Not in the transaction, in which Citus may have used several connections to a node. Repeating it changes nothing.
    await client.query(DELEGATE);
    return { state: 'distributed', tables };
  });
}

async function distribute(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT name FROM unnest($1::text[]) AS asked (name)
     WHERE to_regclass(name) IS NOT NULL AND NOT EXISTS (
       SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass(name) AND partmethod = 'h')`,
    [DISTRIBUTED_TABLES],
  );
  // A migration that makes a table later distributes it.
  const existing = new Set(rows.map(({ name }) => name));
  const missing = DISTRIBUTED_TABLES.filter((table) => existing.has(table));
  if (missing.length > 0) await client.query(CREATE_FUNCTIONS);
  const [first] = DISTRIBUTED_TABLES;
  for (const table of missing) {
    const colocateWith = table === first ? 'none' : first;
    await client.query(`SELECT create_distributed_table($1, 'user_id', colocate_with => $2)`, [
      table,
      colocateWith,
    ]);
  }
  return missing;
}

/** Whether the materials table is distributed. */
export async function isDistributed(db: Queryable): Promise<boolean> {
  const [citus] = await db.query<{ present: boolean }>({
    text: `SELECT to_regclass('pg_dist_partition') IS NOT NULL AS present`,
    values: [],
  });
  if (citus?.present !== true) return false;
  const rows = await db.query({
    text: 'SELECT FROM pg_dist_partition WHERE logicalrelid = $1::regclass',
    values: [DISTRIBUTED_TABLES[0]],
  });
  return rows.length > 0;
}
