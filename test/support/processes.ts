// The services as processes of their own, on ports that they keep, to be killed, frozen, told to end and started again.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { freePort } from '../../services/platform/free-port.ts';
import { argumentsOf, root, type ServiceName } from './programs.ts';

const PORT_VARIABLES = {
  accounts: 'ACCOUNTS_PORT',
  scheduling: 'SCHEDULING_PORT',
  rest: 'REST_PORT',
  gateway: 'GRAPHQL_PORT',
} as const satisfies Record<ServiceName, string>;

export type Environment = Record<string, string>;
export type ServiceProcess = Awaited<ReturnType<typeof startService>>;

/**
 * `folder` holds the code, default: this checkout's. Resolves once the service says that it is ready; its environment holds
 * nothing but `environment` and PATH.
 */
export async function startService(name: ServiceName, environment: Environment, { folder = root } = {}) {
  const port = await freePort();
  let current = environment;
  let log = '';
  let child: ChildProcess;
  const start = async () => {
    const from = log.length;
    child = spawn(process.execPath, argumentsOf(name, folder), {
      cwd: folder,
      env: { PATH: process.env.PATH, LOG_LEVEL: 'info', ...current, [PORT_VARIABLES[name]]: `${port}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    await new Promise<void>((resolve, reject) => {
      let isReady = false;
      const read = (text: string) => {
        log += text;
        // Not again: searching it makes one text of all its pieces, and under load a piece comes with every request.
        isReady ||= log.includes(`${name} is ready`, from);
        if (isReady) resolve();
      };
      child.stdout?.setEncoding('utf8').on('data', read);
      child.stderr?.setEncoding('utf8').on('data', read);
      child.once('exit', () => reject(new Error(log.slice(from))));
    });
  };
  /** Resolves to the exit code, null where the signal ended it. */
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exited = once(child, 'exit');
    if (signal === 'SIGKILL') child.kill('SIGCONT');
    child.kill(signal);
    const [code] = await exited;
    return code;
  };
  await start();
  return {
    name,
    port,
    target: `127.0.0.1:${port}`,
    origin: `http://127.0.0.1:${port}`,
    pid: () => child.pid ?? 0,
    /** All that it has written, over all its lives. */
    log: () => log,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    /** After its end, on the same port; `changes` are kept. */
    async restart(changes: Environment = {}) {
      current = { ...current, ...changes };
      await start();
    },
  };
}

export const newSecret = () => randomBytes(32).toString('hex');

/** One address or several, which a client takes in turns. */
export function targetOf(services: readonly ServiceProcess[]): string {
  const addresses = services.map(({ target }) => target);
  return addresses.length === 1 ? (addresses[0] ?? '') : `ipv4:${addresses.join(',')}`;
}
