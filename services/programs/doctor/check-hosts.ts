// Checks the hosts of DATABASE_URL after the first: each must be reachable, and a node of the same Citus cluster.
import { withConnection } from '../../platform/postgres/connection.ts';
import { howToReach, placeOf } from '../../platform/postgres/reachable.ts';
import { oneLine } from '../../platform/thrown.ts';
import { checkNamed, type Finding } from './finding.ts';
import type { Settings } from './settings.ts';

const CONNECT_MS = 3000;

/** initdb gives each server its own; hosts of two clusters may well have the same names. */
const SYSTEM = 'SELECT system_identifier::text AS system FROM pg_control_system()';
const HOST = `
  SELECT (${SYSTEM}) AS system, pg_is_in_recovery() AS standby,
         EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS citus`;
const NODES = `SELECT result AS system FROM run_command_on_all_nodes($$${SYSTEM}$$) WHERE success`;

type Host = { system: string; standby: boolean; citus: boolean };

/** Nothing if DATABASE_URL has one host. The cluster is that of the first host that responds. */
export async function checkHosts({ databaseUrl, otherHostUrls }: Settings): Promise<Finding[]> {
  if (databaseUrl === undefined || otherHostUrls.length === 0) return [];
  const urls = [databaseUrl, ...otherHostUrls];
  const hosts = await Promise.allSettled(urls.map((url) => ask<Host>(url, HOST)));
  const known = hosts.findIndex(({ status }) => status === 'fulfilled');
  const isCluster = hosts[known]?.status === 'fulfilled' && hosts[known].value[0]?.citus === true;
  // A node that hangs keeps the others from being asked.
  const nodes = isCluster
    ? await ask<Pick<Host, 'system'>>(urls[known] ?? '', NODES).catch(() => undefined)
    : [];
  return otherHostUrls.map((url, index) => {
    const { ok, warning, bad } = checkNamed(`host ${placeOf(url)}`);
    const answer = hosts[index + 1];
    if (answer?.status !== 'fulfilled')
      return bad(`not reachable: ${oneLine(answer?.reason)}`, howToReach(answer?.reason));
    const [host] = answer.value;
    if (!isCluster) return warning('not used: the first host has no Citus', 'name the first host only');
    if (nodes === undefined)
      return warning('reachable; another node hangs', 'mend the node that hangs, and check again');
    if (!nodes.some(({ system }) => system === host?.system))
      return bad('not a node of the cluster of the first host', 'name only the nodes of one cluster');
    if (host?.standby) return bad('accepts no writes', 'name the primary, not a standby');
    return ok('reachable, and a node of the cluster');
  });
}

function ask<R extends object>(connectionString: string, text: string): Promise<R[]> {
  const config = {
    ...{ connectionString, application_name: 'doctor' },
    ...{ connectionTimeoutMillis: CONNECT_MS, query_timeout: CONNECT_MS },
  };
  return withConnection(config, async (client) => (await client.query<R>(text)).rows);
}
