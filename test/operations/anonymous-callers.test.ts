// What a crowd of callers without a key gets of each HTTP server, while somebody with a key is answered at once.
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { startTestGateway, type TestGateway, VIEWER } from '../support/gateway.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

let system: TestSystem;
let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  system = await startSystem();
  gateway = await startTestGateway(system);
  ({ key } = await system.createUser());
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => {
  await gateway.stop();
  await system.stop();
});

type Ask = (secret: string | undefined) => Promise<number>;

const askRest: Ask = (secret) => ask(`${system.origins[0]}/v1/me`, secret);
const askGateway: Ask = (secret) =>
  ask(`${gateway.origin}/graphql`, secret, { method: 'POST', body: '{"query":"{ __typename }"}' });

async function ask(url: string, secret: string | undefined, init: RequestInit = {}): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
  };
  const response = await fetch(url, { ...init, headers });
  await response.text();
  return response.status;
}

test.each([
  ['the REST API', askRest, () => key],
  ['the gateway', askGateway, () => VIEWER],
])(
  '%s answers 500 without a key at once and makes the next one wait, but nobody with a key',
  async (_, send, secret) => {
    expect(await send(secret())).toBe(200);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const statuses = new Set<number>();
    for (let round = 0; round < 20; round += 1) {
      for (const status of await Promise.all(Array.from({ length: 25 }, () => send(undefined))))
        statuses.add(status);
    }
    expect([...statuses]).toEqual([401]);
    let told: number | undefined;
    const next = send(undefined).then((status) => {
      told = status;
    });
    for (let time = 0; time < 3; time += 1) expect(await send(secret())).toBe(200);
    expect(told).toBeUndefined();
    vi.advanceTimersByTime(4);
    await next;
    expect(told).toBe(401);
  },
);
