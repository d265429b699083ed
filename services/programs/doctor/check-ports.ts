// Checks the ports of this machine: free, or in use by one of our services.
import { createHealthClient } from '../../platform/grpc/peer-checks.ts';
import { portProblem, type WantedPort } from '../../platform/process/ports.ts';
import { checkNamed, type Finding } from './finding.ts';
import type { Settings } from './settings.ts';

/** A busy service of ours must not pass for another program. */
const ASK_MS = 5000;

export function checkPorts(settings: Settings): Promise<Finding[]> {
  const { host, innerHost, ports, ops, trust, gatewayOn, reminders } = settings;
  const says = async (port: number, path: string, word: string) => {
    const signal = AbortSignal.timeout(ASK_MS);
    return (await (await fetch(`http://127.0.0.1:${port}${path}`, { signal })).text()).includes(word);
  };
  const serves = async (port: number) => {
    const health = createHealthClient({ target: `127.0.0.1:${port}`, trust, deadlineMs: ASK_MS });
    // Any response in our protocol counts, even NOT_SERVING or a refused token.
    return health
      .fault()
      .then((fault) => fault?.error === undefined)
      .finally(() => health.close());
  };
  const grpc = (name: string, port: number) => ({ name, host: innerHost, port, isOurs: () => serves(port) });
  const http = (name: string, at: { host: string; port: number }, path: string, word: string) => {
    return { name, ...at, isOurs: () => says(at.port, path, word) };
  };
  const wanted = [
    http('REST_PORT', { host, port: ports.rest }, '/v1/me', '"unauthorized"'),
    gatewayOn &&
      http('GRAPHQL_PORT', { host, port: ports.gateway }, '/graphql', 'GraphQL is served over POST only.'),
    grpc('SCHEDULING_PORT', ports.scheduling),
    grpc('ACCOUNTS_PORT', ports.accounts),
    reminders && grpc('REMINDERS_PORT', reminders.port),
    reminders &&
      http('REMINDERS_HTTP_PORT', { host: reminders.host, port: reminders.httpPort }, '/', 'Not found.'),
    ops && http('OPS_PORT', ops, '/live', '"live":true'),
  ];
  return Promise.all(wanted.filter((each) => typeof each === 'object').map(checkPort));
}

async function checkPort({
  isOurs,
  ...wanted
}: WantedPort & { isOurs: () => Promise<boolean> }): Promise<Finding> {
  const { name, host, port } = wanted;
  const { ok, bad } = checkNamed(`port ${name}`);
  const problem = await portProblem(wanted);
  if (problem === undefined) return ok(port === 0 ? '0: any free port' : `${host}:${port} is free`);
  if (problem.isTaken && (await isOurs().catch(() => false)))
    return ok(`${port} is in use by this service, which is running`);
  return bad(problem.found, problem.remedy);
}
