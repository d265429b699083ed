// A redis-server of the benchmark's own, which every system limits its writes by.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../../services/platform/free-port.ts';
import { startProgram, untilReady } from './child.ts';

export async function startRedis(): Promise<{ url: string; pid: number; stop(): Promise<void> }> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'srs-bench-redis-'));
  const settings = { port, bind: '127.0.0.1', save: '', appendonly: 'no', dir: folder };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  const child = startProgram({ name: 'redis', command: 'redis-server', args, env: {} });
  await untilReady([child], async () => {
    const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true, retryStrategy: () => null });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.ping()) === 'PONG';
    } finally {
      client.disconnect();
    }
  });
  const stop = async () => {
    await child.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url: `redis://127.0.0.1:${port}`, pid: child.pid, stop };
}
