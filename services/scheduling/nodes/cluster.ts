// A Citus cluster: a user's statements enter at the node that has the user's rows, where Citus runs them without another node.

import type { Logger } from '../../platform/logging/logger.ts';
import type { Telemetry } from '../../platform/observability/telemetry.ts';
import { type Database, openDatabase } from '../../platform/postgres/database.ts';
import type { DatabasePlace } from '../../platform/process/database-config.ts';
import { isUuid } from '../../platform/uuid.ts';
import { withKeyInText } from './key-in-text.ts';
import { createNodeGate, type NodeGate } from './node-gate.ts';
import { createNodeMap, type NodeOf } from './node-map.ts';

/** Twice what the gate lets in at once: after a time-out, a connection is kept until the node is done with the statement. */
const CONNECTIONS_PER_NODE = 8;

const GROUP = 'SELECT groupid AS "group" FROM pg_dist_local_group';

export type Cluster = {
  /**
   * Every node can run every statement, so a stale map costs a detour and no error. Statements of no user, and of users whose node
   * is not a host of DATABASE_URL, enter at the coordinator.
   */
  database: Database;
  gate: NodeGate;
  nodeOf: NodeOf;
  /** Closes the connections to the nodes, but not those to the coordinator. */
  close(): Promise<void>;
};

export async function openCluster(
  coordinator: Database,
  { place, logger, telemetry }: { place: DatabasePlace; logger: Logger; telemetry: Telemetry },
): Promise<Cluster> {
  const hosts = (place.otherHostUrls ?? []).map((databaseUrl) => {
    const database = openDatabase({
      databaseUrl,
      prepares: place.databaseSessionUrl === undefined,
      forNode: withKeyInText,
      applicationName: `scheduling@${new URL(databaseUrl).host}`,
      maxConnections: CONNECTIONS_PER_NODE,
      logger,
      telemetry,
    });
    return { database, group: undefined as number | undefined };
  });
  coordinator.expectNodes();
  /** Asks the hosts themselves, since the cluster may know them by other names. One that does not respond is asked again. */
  const identify = () =>
    Promise.all(
      hosts.map(async (host) => {
        const rows = await host.database
          .query<{ group: number }>({ text: GROUP, values: [] })
          .catch(() => []);
        host.group = rows[0]?.group ?? host.group;
      }),
    );
  const map = await createNodeMap(coordinator, { onRead: identify, logger });
  const databases = [coordinator, ...hosts.map(({ database }) => database)];
  const close = async () => {
    map.stop();
    await Promise.all(hosts.map(({ database }) => database.close()));
  };
  const databaseOf = (userId: unknown): Database => {
    const node = typeof userId === 'string' && isUuid(userId) ? map.nodeOf(userId) : undefined;
    return hosts.find(({ group }) => group !== undefined && group === node)?.database ?? coordinator;
  };
  return {
    database: {
      ...coordinator,
      // The user of a statement is its first parameter.
      query: (statement) => databaseOf(statement.values[0]).query(statement),
      transaction: (work, options) => databaseOf(options?.userId).transaction(work, options),
      answers: () => databases.reduce((sum, database) => sum + database.answers(), 0),
    },
    gate: createNodeGate(map.nodeOf),
    nodeOf: map.nodeOf,
    close,
  };
}
