// HAProxy as a process, with the very file that is deployed.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../services/platform/process/ports.ts';
import { root, startProcess } from '../../support/processes.ts';

const FILE = join(root, 'deploy/haproxy/haproxy.cfg');

/** In front of a facade and a gateway on these ports. `opsPort`: of the facade. */
export async function startProxy(behind: { rest: number; gateway: number; opsPort: number }) {
  const ports = {
    rest: await freePort(),
    gateway: await freePort(),
    reminders: await freePort(),
    health: await freePort(),
  };
  // Without a terminal HAProxy needs a folder that it may write.
  const folder = mkdtempSync(join(tmpdir(), 'srs-proxy-'));
  const proxy = startProcess('/usr/sbin/haproxy', ['-db', '-f', FILE], {
    cwd: folder,
    env: {
      REST_BIND: `127.0.0.1:${ports.rest}`,
      GATEWAY_BIND: `127.0.0.1:${ports.gateway}`,
      REMINDERS_BIND: `127.0.0.1:${ports.reminders}`,
      HEALTH_BIND: `127.0.0.1:${ports.health}`,
      REST_ADDRESS: `127.0.0.1:${behind.rest}`,
      GATEWAY_ADDRESS: `127.0.0.1:${behind.gateway}`,
      REMINDERS_ADDRESS: '127.0.0.1:1',
      CHECK_PORT: `${behind.opsPort}`,
    },
  });
  for (let tries = 0; !(await answers(ports.rest)); tries += 1) {
    if (tries === 100) throw new Error(`HAProxy does not start: ${proxy.output()}`);
    await sleep(100);
  }
  return {
    ports,
    async stop() {
      await proxy.end();
      rmSync(folder, { recursive: true });
    },
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}
