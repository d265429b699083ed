// The services as processes, on ports that they keep, to be killed, frozen, told to end and started again.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Environment,
  linesOf,
  type Process,
  type ProcessOptions,
  root,
  startProcess,
} from './processes.ts';

const PORT_VARIABLES = {
  accounts: 'ACCOUNTS_PORT',
  scheduling: 'SCHEDULING_PORT',
  reminders: 'REMINDERS_PORT',
  rest: 'REST_PORT',
  gateway: 'GRAPHQL_PORT',
} as const;

export type ServiceName = keyof typeof PORT_VARIABLES;
export type ServiceProcess = Awaited<ReturnType<typeof startService>>;

/** What the npm script, `exec node …`, gives to node: flags, then the file; relative to `folder`, a checkout, default: this one. */
export function argumentsOf(script: string, folder = root): string[] {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const [, , ...given] = scripts[script].split(' ');
  return given;
}

/** `folder` holds the code; `flags` are for node. Resolves once the service says that it is ready. */
export async function startService(
  name: ServiceName,
  environment: Environment,
  options: Pick<ProcessOptions, 'ipc' | 'keep'> & { folder?: string; flags?: readonly string[] } = {},
) {
  const { folder = root, flags = [], ...others } = options;
  let env: Environment = { LOG_LEVEL: 'info', ...environment, [PORT_VARIABLES[name]]: '0' };
  let past = '';
  let current: Process;
  const log = () => past + current.output();
  const start = () => {
    current = startProcess(process.execPath, [...flags, ...argumentsOf(name, folder)], {
      ...others,
      cwd: folder,
      env,
    });
    return current.says((output) => portIn(output, name));
  };
  const port = await start();
  const opsPort = portIn(log(), 'ops');
  env = { ...env, [PORT_VARIABLES[name]]: `${port}` };
  return {
    name,
    port,
    target: `127.0.0.1:${port}`,
    origin: `http://127.0.0.1:${port}`,
    /** Of /live, /ready and /metrics; undefined without OPS_PORT. */
    ops: opsPort && `http://127.0.0.1:${opsPort}`,
    pid: () => current.pid(),
    child: () => current.child,
    /** All that it has written, over all its lives. */
    log,
    lines: () => linesOf(log()),
    /** What it has written to standard output since it was started last. */
    stdout: () => current.stdout(),
    kill: () => current.end('SIGKILL'),
    /** Resolves to the exit code. */
    stop: () => current.end(),
    freeze: () => current.signal('SIGSTOP'),
    thaw: () => current.signal('SIGCONT'),
    /** After its end, on the same port; `changes` are kept. */
    async restart(changes: Environment = {}): Promise<void> {
      past = log();
      env = { ...env, ...changes };
      await start();
    },
  };
}

/** Of the server that says in a log that it is ready. */
export function portIn(log: string, name: ServiceName | 'ops'): number | undefined {
  const line = linesOf(log).find(({ msg }) => msg === `${name} is ready`);
  return line && Number(line.port);
}

export const newSecret = () => randomBytes(32).toString('hex');

/** One address or several, which a client takes in turns. */
export function targetOf(services: readonly ServiceProcess[]): string {
  const addresses = services.map(({ target }) => target);
  return addresses.length === 1 ? (addresses[0] ?? '') : `ipv4:${addresses.join(',')}`;
}
