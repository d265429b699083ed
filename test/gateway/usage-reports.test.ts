// Apollo Server would report each operation to its maker if the environment has the key of a graph.
import { expect, onTestFinished, test, vi } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';

test('operations are reported to nobody, also with the key of a graph in the environment', async () => {
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
    vi.unstubAllEnvs();
  });
  // Reports are sent every ten seconds.
  vi.useFakeTimers({ toFake: ['setInterval'] });
  vi.stubEnv('APOLLO_KEY', 'service:graph:secret');
  vi.stubEnv('APOLLO_GRAPH_REF', 'graph@current');
  const [send, asked] = [fetch, [] as string[]];
  vi.stubGlobal('fetch', (url: string, init: object) => {
    asked.push(url);
    return url.startsWith('http://127.0.0.1') ? send(url, init) : Promise.reject(new Error('nobody'));
  });
  const away = { schedulingTarget: '127.0.0.1:1', accountsTarget: '127.0.0.1:1' };
  const gateway = await startTestGateway({ ...away, trust: { serviceTokens: [], tls: undefined } });
  expect((await gateway.query('{ __typename }')).data).toEqual({ __typename: 'Query' });
  await vi.advanceTimersByTimeAsync(60_000);
  await gateway.stop();
  expect(asked).toEqual([`${gateway.origin}/graphql`]);
});
