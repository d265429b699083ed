// Redis, on every master of a Cluster: reachable, version, eviction policy.
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { bad, type Check, ok, warning } from '../../platform/checks.ts';
import { oneLine } from '../../platform/thrown.ts';
import { connectRedis } from '../../rest/write-limit/redis.ts';
import { type Named, runChecks } from './finding.ts';
import type { Settings } from './settings.ts';

const ATTEMPTS = 3;
const PAUSE_MS = 300;

export async function checkRedis({ rest: { redisUrl } }: Settings): Promise<Named[]> {
  const check = 'redis';
  if (redisUrl === undefined) {
    const found =
      'REDIS_URL is not set: each rest process limits writes by itself, which is exact for one process';
    return [{ check, ...ok(found) }];
  }
  let client: ReturnType<typeof connectRedis>;
  try {
    client = connectRedis(redisUrl);
  } catch (error) {
    return [{ check, ...bad(oneLine(error), 'correct REDIS_URL') }];
  }
  const { commands, firstContact, fault } = client;
  try {
    await firstContact;
    return await checkNodes(commands);
  } catch (error) {
    const away = bad(
      `not reachable: ${fault() ?? oneLine(error)}`,
      'start Redis, open the network path to it, or correct REDIS_URL and its password; until then each rest process limits writes by itself',
    );
    return [{ check, ...away }];
  } finally {
    commands.disconnect();
  }
}

/** Longer than the limiter's time-out, so that one slow response does not count as a failure. */
async function checkNodes(commands: Redis | Cluster, attempt = 1): Promise<Named[]> {
  try {
    const nodes = commands instanceof Cluster ? commands.nodes('master') : [commands];
    if (nodes.length === 0) throw new Error('no node answers');
    return (await Promise.all(nodes.map((node) => checkNode(node, nodes.length > 1)))).flat();
  } catch (error) {
    if (attempt === ATTEMPTS) throw error;
    await sleep(PAUSE_MS);
    return checkNodes(commands, attempt + 1);
  }
}

/** `isOneOfMany`: findings include the node's address. */
async function checkNode(node: Redis, isOneOfMany: boolean): Promise<Named[]> {
  const place = `${node.options.host}:${node.options.port}`;
  const info = new Map(
    (await node.info())
      .split('\r\n')
      .map((line): [string, string] => [line.split(':')[0] ?? '', line.split(':').slice(1).join(':')]),
  );
  const findings = await runChecks(REDIS_CHECKS, { place, info });
  return isOneOfMany
    ? findings.map((finding) => ({ ...finding, check: `${finding.check} ${place}` }))
    : findings;
}

type Node = { place: string; info: ReadonlyMap<string, string> };

export const REDIS_CHECKS: readonly Check<Node>[] = [
  {
    name: 'redis',
    run: ({ place, info }) =>
      info.get('role') === 'slave'
        ? bad(`${place} is a replica, which accepts no writes`, 'name the primary in REDIS_URL')
        : ok(`reachable at ${place}`),
  },
  {
    name: 'redis version',
    run({ info }) {
      const version = info.get('redis_version') ?? '';
      const major = Number(version.split('.')[0]);
      if (major >= 7) return ok(`Redis ${version}`);
      if (major >= 5)
        return warning(
          `Redis ${version}`,
          'upgrade to Redis 7 or newer: the limiter is not tested with older ones',
        );
      return bad(
        `Redis ${version}`,
        'upgrade to Redis 7 or newer: the limiter reads the time and writes in one script, which needs 5',
      );
    },
  },
  {
    name: 'redis eviction',
    run({ info }) {
      const [policy = '', most] = [info.get('maxmemory_policy'), Number(info.get('maxmemory'))];
      if (policy === 'noeviction' || most === 0) return ok(most === 0 ? 'no memory limit' : policy);
      return warning(
        `${policy}: when its memory is full, Redis evicts writes that still count in the limit`,
        'set maxmemory-policy noeviction: when full, Redis refuses, and each rest process limits by itself',
      );
    },
  },
];
