// Promise: a revoked key is refused on every facade, within 100 ms at p99 and a second at worst, whatever the stream does.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService } from '../support/services.ts';
import { percentile } from '../support/statistics.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { recordFigure } from './support/figures.ts';
import { createClient } from './support/load.ts';
import { sized } from './support/rounds.ts';

const FACADES = 3;
const CALL = { requestId: 'fault' };
let here: Deployment;
let proxies: TcpProxy[];

beforeAll(async () => {
  // The facades reach accounts through proxies, which have to exist first.
  proxies = [];
  here = await startDeployment({ replicas: { accounts: 1, scheduling: 1, rest: 0 } });
  for (let index = 0; index < FACADES; index += 1) {
    const proxy = await startTcpProxy(here.accounts[0]?.port ?? 0);
    proxies.push(proxy);
    const rest = await startService('rest', {
      ACCOUNTS_URL: proxy.target,
      SCHEDULING_URL: here.schedulingTarget,
    });
    here.rest.push(rest);
    here.origins.push(rest.origin);
  }
});
afterAll(async () => {
  await here.stop();
  for (const proxy of proxies) await proxy.stop();
});

/** Revokes a key that all facades know; how long each still accepted it after the revocation was acknowledged, in ms. */
async function revoke(
  during: {
    before?: () => void;
    asking?: (key: string) => Promise<unknown>[];
    /** How often each facade has to refuse it in a row. */
    refusals?: number;
  } = {},
) {
  const { key, apiKeyId } = await here.createKey();
  const clients = here.origins.map((origin) => createClient([origin]));
  const ask = (index: number) => clients[index]?.send({ method: 'GET', path: '/me', key });
  if (during.asking === undefined) {
    for (let index = 0; index < FACADES; index += 1) {
      await expect.poll(async () => (await ask(index))?.status, { timeout: 10_000 }).toBe(200);
    }
  }
  during.before?.();
  const underWay = during.asking?.(key) ?? [];
  await here.clients.apiKeys.revokeApiKey({ apiKeyId }, CALL);
  const acknowledged = performance.now();
  const lags = await Promise.all(
    clients.map(async (_client, index) => {
      let lag = 0;
      for (let refused = 0; refused < (during.refusals ?? 5); ) {
        const sent = performance.now();
        const status = (await ask(index))?.status;
        // 503 is a refusal as well: whose key it is cannot be told. After the first, none may be accepted.
        if (status === 200) {
          expect(refused).toBe(0);
          lag = sent - acknowledged;
        } else {
          expect([401, 503]).toContain(status);
          refused += 1;
        }
      }
      return lag;
    }),
  );
  await Promise.all(underWay);
  for (const client of clients) client.close();
  return lags;
}

async function repeat(rounds: number, round: (index: number) => Promise<number[]>): Promise<number[]> {
  const lags: number[] = [];
  for (let index = 0; index < rounds; index += 1) lags.push(...(await round(index)));
  return lags;
}

function record(circumstance: string, rounds: number, lags: number[]): void {
  const over = `${rounds} rounds x ${FACADES} rest processes`;
  const promise = `a revoked key is refused, ${circumstance}`;
  recordFigure({ promise: `${promise}, p99`, measured: percentile(lags, 0.99), bar: 100, unit: 'ms', over });
  recordFigure({ promise: `${promise}, at worst`, measured: Math.max(...lags), bar: 1000, unit: 'ms', over });
}

describe('a revoked key is refused by every facade', () => {
  test('that had just used it', async () => {
    const rounds = sized(300);
    record('streams intact', rounds, await repeat(rounds, () => revoke()));
  });

  test('that is verifying it at that moment', async () => {
    const rounds = sized(100);
    const asking = (key: string) =>
      here.origins.flatMap((origin) =>
        Array.from({ length: 4 }, async () => {
          const client = createClient([origin]);
          await client.send({ method: 'GET', path: '/me', key });
          client.close();
        }),
      );
    record('while it is being verified', rounds, await repeat(rounds, () => revoke({ asking })));
  });

  test('whose stream of revocations is cut at that moment', async () => {
    const rounds = sized(80);
    const cut = (index: number) => () => proxies[index % FACADES]?.cut();
    record('streams cut', rounds, await repeat(rounds, (index) => revoke({ before: cut(index) })));
  });

  test('whose stream of revocations falls into a black hole at that moment', async () => {
    const rounds = sized(20);
    const lags = await repeat(rounds, async (index) => {
      const proxy = proxies[index % FACADES];
      // At any point between two beats.
      await sleep((index * 61) % 500);
      const result = await revoke({ before: () => proxy?.hold(), refusals: 2 });
      proxy?.release();
      return result;
    });
    const over = `${rounds} rounds x 1 of ${FACADES} rest processes`;
    const promise = 'a revoked key is refused, stream in a black hole, at worst';
    recordFigure({ promise, measured: Math.max(...lags), bar: 1000, unit: 'ms', over });
  });
});
