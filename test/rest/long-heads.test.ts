// A head of 16 KiB costs no more than five plain ones, whatever is in it: nobody has shown a key yet.
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Attack, readCorpus, toRequest } from '../faults/support/attack.ts';
import { processCpuMs } from '../support/process-cpu.ts';
import { type ServiceProcess, startService } from '../support/services.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

beforeAll(startAll);
afterAll(stopAll);

test.each(heads())('$title', async (attack) => {
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS && !ratios.some((ratio) => ratio <= 5); round += 1) {
    const plain = await costOf(PLAIN);
    ratios.push((await costOf(attack)) / plain);
  }
  expect(Math.min(...ratios)).toBeLessThanOrEqual(5);
});

const REQUESTS = 40;
const ROUNDS = 5;

let system: TestSystem;
let rest: ServiceProcess;

async function startAll(): Promise<void> {
  system = await startSystem({ facades: 0 });
  rest = await startService('rest', {
    ACCOUNTS_URL: system.accountsTarget,
    SCHEDULING_URL: system.schedulingTarget,
  });
  for (let round = 0; round < ROUNDS; round += 1) await costOf(PLAIN);
}

async function stopAll(): Promise<void> {
  await rest.kill();
  await system.stop();
}

/** CPU milliseconds of the facade for all of them, each on a connection of its own. */
async function costOf(attack: Attack): Promise<number> {
  const facts = { key: '', userId: '', smallMaterialId: '', viewerToken: '', operatorToken: '' };
  const bytes = toRequest(attack, {
    ...facts,
    ports: { rest: 0, gateway: 0, ops: 0, scheduling: 0, accounts: 0 },
  });
  const before = processCpuMs(rest.pid());
  for (let count = 0; count < REQUESTS; count += 1) {
    const socket = connect(rest.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(bytes);
    await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => {});
    socket.destroy();
  }
  return processCpuMs(rest.pid()) - before;
}

const PLAIN: Attack = {
  name: 'plain',
  title: 'a plain request without a key',
  to: 'rest',
  as: 'nobody',
  request: { method: 'GET', path: ['/v1/me'] },
};

/** Those that nobody has to be known for. */
function heads() {
  const files = ['rest-heads.json', 'rest-anonymous.json'];
  return files
    .flatMap((file) => readCorpus(file))
    .filter(
      ({ request, bytesASecond, as, to }) =>
        request !== undefined && bytesASecond === undefined && as === 'nobody' && to === 'rest',
    );
}
