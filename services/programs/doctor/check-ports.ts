// The ports of this machine: free, or in use by one of our services.
import { bad, type Check, type Finding, ok } from '../../platform/checks.ts';
import { createHealthClient } from '../../platform/grpc/peer-checks.ts';
import { portProblem, rivalOf, type WantedPort } from '../../platform/process/ports.ts';
import { reachable } from '../start/screen.ts';
import { portsOf } from '../start/settings.ts';
import { ANSWER_MS } from './finding.ts';
import type { Settings } from './settings.ts';

/** What our services answer over HTTP; the other ports are gRPC's. */
const HTTP_ANSWERS: Record<string, { path: string; word: string }> = {
  REST_PORT: { path: '/v1/me', word: '"unauthorized"' },
  GRAPHQL_PORT: { path: '/graphql', word: 'GraphQL is served over POST only.' },
  REMINDERS_HTTP_PORT: { path: '/', word: 'Not found.' },
  OPS_PORT: { path: '/live', word: '"live":true' },
};

export const portChecks = (settings: Settings): Check[] =>
  portsOf(settings).map((wanted, index, all) => {
    const rival = rivalOf(wanted, all.slice(0, index));
    return {
      name: `port ${wanted.name}`,
      run: () =>
        rival === undefined
          ? checkPort(wanted, settings)
          : bad(`${rival.name} is ${wanted.port} too`, 'set one of them to another port'),
    };
  });

async function checkPort(wanted: WantedPort, settings: Settings): Promise<Finding> {
  const { host, port } = wanted;
  const problem = await portProblem(wanted);
  if (problem === undefined) return ok(port === 0 ? '0: any free port' : `${host}:${port} is free`);
  if (problem.isTaken && (await isOurs(wanted, settings).catch(() => false)))
    return ok(`${port} is in use by this service, which is running`);
  return bad(problem.found, problem.remedy);
}

async function isOurs({ name, host, port }: WantedPort, { rest: { trust } }: Settings): Promise<boolean> {
  const target = `${reachable(host)}:${port}`;
  const answer = HTTP_ANSWERS[name];
  if (answer !== undefined) {
    const signal = AbortSignal.timeout(ANSWER_MS);
    return (await (await fetch(`http://${target}${answer.path}`, { signal })).text()).includes(answer.word);
  }
  const health = createHealthClient({ target, trust, deadlineMs: ANSWER_MS });
  // Any response in our protocol counts, even NOT_SERVING or a refused token.
  const fault = await health.fault().finally(() => health.close());
  return fault?.error === undefined;
}
