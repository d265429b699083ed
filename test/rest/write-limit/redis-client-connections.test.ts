// How the write limiter reaches Redis: user, password, TLS and addresses of a Cluster, and what it does while Redis is away.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../../services/platform/process/ports.ts';
import { connectRedis, createRedisLog } from '../../../services/rest/write-limit/redis.ts';
import { makeCertificates } from '../../support/certificates.ts';
import { describeWithRedis, type RedisServer, startRedis } from '../../support/redis.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';

describeWithRedis('a Redis Cluster', () => {
  test('gets the user and the password of the first URL, decoded', async () => {
    const { port } = await startLone([AT_IPV4, ['user', 'ol@ga', 'on', '>p@ss:word', '~*', '+@all']]);
    const client = connectTo(`redis://ol%40ga:p%40ss%3Aword@127.0.0.1:${port},redis://127.0.0.1:${port}`);
    await becomesUsable(client);
    expect(await client.commands.acl('WHOAMI')).toBe('ol@ga');
  });

  test('gets a password alone as that of the default user', async () => {
    const { port } = await startLone([AT_IPV4], 'p@ss');
    const client = connectTo(`redis://:p%40ss@127.0.0.1:${port},redis://127.0.0.1:${port}`);
    await becomesUsable(client);
    expect(await client.commands.acl('WHOAMI')).toBe('default');
  });

  test('is reached over TLS under rediss, by the names in its certificates', async () => {
    const certificates = makeCertificates({ names: 'DNS:localhost' });
    const trusted = getCACertificates('default');
    onTestFinished(() => {
      setDefaultCACertificates(trusted);
      certificates.remove();
    });
    const { GRPC_TLS_CERT, GRPC_TLS_KEY, GRPC_TLS_CA } = certificates.environment;
    setDefaultCACertificates([...trusted, readFileSync(GRPC_TLS_CA, 'utf8')]);
    const port = await freePort();
    await startLone([
      ['tls-port', `${port}`],
      ['tls-cert-file', GRPC_TLS_CERT],
      ['tls-key-file', GRPC_TLS_KEY],
      ['tls-ca-cert-file', GRPC_TLS_CA],
      ['tls-auth-clients', 'no'],
      ['tls-cluster', 'yes'],
      ['cluster-announce-hostname', 'localhost'],
      ['cluster-preferred-endpoint-type', 'hostname'],
    ]);
    await becomesUsable(connectTo(`rediss://localhost:${port},rediss://localhost:${port}`));
    // Its address is not in the certificate.
    const unnamed = connectTo(`rediss://127.0.0.1:${port},rediss://127.0.0.1:${port}`);
    await expect.poll(() => unnamed.fault()).toBe(`127.0.0.1:${port}: Connection is closed.`);
  });

  test('is reached at an IPv6 address', async () => {
    const { port } = await startLone([
      ['bind', '127.0.0.1', '::1'],
      ['cluster-announce-ip', '::1'],
    ]);
    const client = connectTo(`redis://[::1]:${port},redis://[::1]:${port}`);
    await becomesUsable(client);
    expect(await client.commands.client('INFO')).toContain(`laddr=[::1]:${port}`);
  });

  test('without a usable node is told by its last node, at port 6379 where its URL has none', async () => {
    const client = connectTo(`redis://${NOBODY},redis://${NOBODY}`);
    await expect.poll(() => client.fault()).toBe(`${NOBODY}:6379: Connection is closed.`);
  });

  test('is not sent what it could not be asked at once', async () => {
    const { commands } = connectTo(`redis://${NOBODY}:1,redis://${NOBODY}:1`);
    await expect(commands.get('a')).rejects.toThrow(/Cluster isn't ready/);
  });

  /** One node with all slots: a cluster is named by two URLs. */
  const startLone = async (more: Setting[], password?: string): Promise<RedisServer> => {
    const node = await startRedis({ cluster: true, more, ...(password !== undefined && { password }) });
    onTestFinished(() => node.stop());
    const administrator = new Redis(node.url);
    await administrator.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await expect.poll(() => administrator.call('CLUSTER', 'INFO')).toContain('cluster_state:ok');
    administrator.disconnect();
    return node;
  };
  const AT_IPV4: Setting = ['cluster-announce-ip', '127.0.0.1'];
});

describe('a Redis that is away', () => {
  test('is tried again after 50 ms, each time 50 ms later, at last every 250 ms', async () => {
    const { commands } = connectTo(`redis://${NOBODY}:1`);
    const delays: number[] = [];
    commands.on('reconnecting', (delayMs: number) => delays.push(delayMs));
    await expect.poll(() => delays.slice(0, 7)).toEqual([50, 100, 150, 200, 250, 250, 250]);
  });
});

/** A loopback address of its own, on which no server of this machine listens. */
const NOBODY = '127.83.12.9';

describeWithRedis('the write limit during a connection', () => {
  let redis: RedisServer;
  let proxy: TcpProxy;
  beforeEach(async () => {
    redis = await startRedis();
    proxy = await startTcpProxy(redis.port);
  });
  afterEach(async () => {
    await proxy.stop();
    await redis.stop();
  });
  const openLog = () => {
    const log = createRedisLog({ redisUrl: `redis://${proxy.target}`, limit: 5, windowMs: 60_000 });
    onTestFinished(() => log.close());
    return log;
  };

  test('the first write waits for it', async () => {
    proxy.holdNew();
    const log = openLog();
    const first = log.take('first');
    await new Promise((resolve) => setImmediate(resolve));
    proxy.release();
    // On a busy machine the first answer can be late.
    expect(await first.catch(() => log.take('first'))).toMatchObject({ allowed: true });
  });

  test('a write that could not be sent at once is not sent later', async () => {
    const administrator = new Redis(redis.url);
    onTestFinished(() => administrator.disconnect());
    const log = openLog();
    await expect.poll(() => log.take('sent').then(() => 'counted', String)).toBe('counted');
    await proxy.stop();
    await expect.poll(() => log.take('gone').catch(String)).toMatch(/ECONNREFUSED/);
    await proxy.open();
    proxy.holdNew();
    const held = log.take('held').catch(String);
    expect(await held).toMatch(/ECONNREFUSED/);
    proxy.release();
    await expect.poll(() => log.take('back').then(() => 'counted', String)).toBe('counted');
    expect(await administrator.keys('write-limit:*')).toEqual(
      expect.not.arrayContaining(['write-limit:{gone}', 'write-limit:{held}']),
    );
  });

  test('the fault of a connection is told until the next one works', async () => {
    const client = connectTo(`redis://${proxy.target}`);
    await becomesUsable(client);
    expect(client.fault()).toBeUndefined();
    await proxy.stop();
    await expect.poll(() => client.fault()).toBe(`connect ECONNREFUSED ${proxy.target}`);
    await proxy.open();
    await once(client.commands, 'ready');
    expect(client.fault()).toBeUndefined();
  });
});

describeWithRedis('a Redis whose scripts answer otherwise', () => {
  test.each([
    ['a number', 'DEL'],
    ['a list of another length', 'MGET'],
  ])('by %s is not believed', async (_, command) => {
    const redis = await startRedis({
      more: [
        ['rename-command', 'EVALSHA', 'MOVED-EVALSHA'],
        ['rename-command', command, 'EVALSHA'],
      ],
    });
    onTestFinished(() => redis.stop());
    const log = createRedisLog({ redisUrl: redis.url, limit: 5, windowMs: 60_000 });
    onTestFinished(() => log.close());
    await expect
      .poll(() => log.take('odd').catch(({ message }: Error) => message))
      .toBe('Redis returned an unexpected result');
  });
});

type Setting = readonly [name: string, ...values: string[]];

/** The connection is closed after the test. */
const connectTo = (redisUrl: string) => {
  const client = connectRedis(redisUrl);
  onTestFinished(() => client.commands.disconnect());
  return client;
};

/** Resolves once a command is answered. */
const becomesUsable = async ({ commands }: ReturnType<typeof connectRedis>) =>
  expect.poll(() => commands.incr('uses').catch(String)).toEqual(expect.any(Number));
