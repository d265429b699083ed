// Checks the ports of this machine: free, or in use by one of our services.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createHealthClient } from '../../platform/grpc/health.ts';
import { TokenRefusedError } from '../../platform/grpc/service-token.ts';
import { checkNamed, type Finding } from './finding.ts';
import type { Settings } from './settings.ts';

const ASK_MS = 1000;

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
      .isServing()
      .then(
        () => true,
        (error: unknown) => error instanceof TokenRefusedError,
      )
      .finally(() => health.close());
  };
  const wanted = [
    { name: 'REST_PORT', host, port: ports.rest, isOurs: () => says(ports.rest, '/v1/me', '"unauthorized"') },
    {
      name: 'GRAPHQL_PORT',
      host,
      port: ports.gateway,
      isOurs: () => says(ports.gateway, '/graphql', 'only POST /graphql here'),
    },
    {
      name: 'SCHEDULING_PORT',
      host: innerHost,
      port: ports.scheduling,
      isOurs: () => serves(ports.scheduling),
    },
    { name: 'ACCOUNTS_PORT', host: innerHost, port: ports.accounts, isOurs: () => serves(ports.accounts) },
    ...(reminders === undefined
      ? []
      : [
          {
            name: 'REMINDERS_PORT',
            host: innerHost,
            port: reminders.port,
            isOurs: () => serves(reminders.port),
          },
          {
            name: 'REMINDERS_HTTP_PORT',
            host: reminders.host,
            port: reminders.httpPort,
            isOurs: () => says(reminders.httpPort, '/', 'Not found.'),
          },
        ]),
    ...(ops === undefined
      ? []
      : [{ name: 'OPS_PORT', ...ops, isOurs: () => says(ops.port, '/live', '"live":true') }]),
  ];
  return Promise.all(wanted.filter(({ name }) => gatewayOn || name !== 'GRAPHQL_PORT').map(checkPort));
}

async function checkPort(wanted: {
  name: string;
  host: string;
  port: number;
  isOurs: () => Promise<boolean>;
}): Promise<Finding> {
  const { name, host, port, isOurs } = wanted;
  const { ok, bad } = checkNamed(`port ${name}`);
  if (port === 0) return ok('0: any free port');
  const code = await tryToListen(host, port);
  if (code === undefined) return ok(`${host}:${port} is free`);
  if (code === 'EADDRNOTAVAIL')
    return bad(`${host} is not an address of this machine`, 'correct HOST or OPS_HOST');
  if (code === 'EACCES') return bad(`this user may not listen on ${port}`, `set ${name} to 1024 or above`);
  if (await isOurs().catch(() => false)) return ok(`${port} is in use by this service, which is running`);
  return bad(
    `${host}:${port} is in use by another program`,
    `stop it (ss -ltnp 'sport = :${port}' shows it), or set ${name} to another port`,
  );
}

/** @returns the error code; undefined if the port is free. */
async function tryToListen(host: string, port: number): Promise<string | undefined> {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  }
  server.close();
  return undefined;
}
