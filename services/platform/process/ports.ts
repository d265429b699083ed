// The ports of TCP servers, and whether those of a start are free, so that a taken one is reported by its variable.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { errorCode } from '../thrown.ts';
import { ConfigError } from './config.ts';

/** `name` is the variable that sets the port. Port 0 stands for any free one. */
export type WantedPort = { name: string; host: string; port: number };

/** @throws ConfigError with one problem for each port that cannot be used. */
export async function requireFreePorts(wanted: readonly WantedPort[]): Promise<void> {
  const problems = await Promise.all(
    wanted.map(async (each, index) => {
      const { name, port } = each;
      const rival = rivalOf(each, wanted.slice(0, index));
      if (rival !== undefined)
        return `${rival.name} and ${name} are both ${port}: set one of them to another port`;
      const problem = await portProblem(each);
      return problem === undefined ? [] : `${name} is ${port}: ${problem.found}; ${problem.remedy}`;
    }),
  );
  if (problems.flat().length > 0) throw new ConfigError(problems.flat());
}

/** The first of `others` that wants the same port. */
export function rivalOf({ host, port }: WantedPort, others: readonly WantedPort[]): WantedPort | undefined {
  return others.find((other) => port !== 0 && other.port === port && overlap(other.host, host));
}

/** Whether two servers on these hosts would compete for a port: 0.0.0.0 means all IPv4 addresses, :: all addresses. */
function overlap(one: string, other: string): boolean {
  const isAll = (all: string, host: string) =>
    all === '::' || (all === '0.0.0.0' && /^\d+(\.\d+){3}$/.test(host));
  return one === other || isAll(one, other) || isAll(other, one);
}

/** Codes for a host that is no address of this machine: foreign, unresolvable, or of a missing address family or interface. */
const NO_ADDRESS = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EAFNOSUPPORT', 'EINVAL'];

/** Why this process cannot listen there, and the remedy; undefined if it can. `isTaken`: another program listens there. */
export async function portProblem({
  name,
  host,
  port,
}: WantedPort): Promise<{ found: string; remedy: string; isTaken: boolean } | undefined> {
  const code = port === 0 ? undefined : await tryToListen(host, port);
  if (code === undefined) return undefined;
  if (NO_ADDRESS.includes(code)) {
    const remedy = `correct ${name === 'OPS_PORT' ? 'OPS_HOST' : 'HOST'}`;
    return { found: `${host} is not an address of this machine`, remedy, isTaken: false };
  }
  if (code === 'EACCES') {
    const remedy = `set ${name} to 1024 or above`;
    return { found: `this user may not listen on ${port}`, remedy, isTaken: false };
  }
  return {
    found: `${host}:${port} is in use by another program`,
    remedy: `stop it (${showing(port)} shows it), or set ${name} to another port`,
    isTaken: true,
  };
}

/** The command that shows who listens on a port. macOS has no ss. */
function showing(port: number): string {
  return process.platform === 'darwin'
    ? `lsof -nP -iTCP:${port} -sTCP:LISTEN`
    : `ss -ltnp 'sport = :${port}'`;
}

/** @returns the error code; undefined if the port is free. */
async function tryToListen(host: string, port: number): Promise<string | undefined> {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    return errorCode(error) || 'unknown';
  }
  server.close();
  await once(server, 'close');
  return undefined;
}

/** The port on which `server` listens. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return address.port;
}

/** Below those that the system gives to outgoing connections: from 32768 on Linux, from 49152 elsewhere. */
const FIRST_FREE_PORT = 20_000;
const FREE_PORTS = 10_000;
/** Each call begins behind the answer of the one before, so that several in turn differ. */
let nextPort = randomInt(FREE_PORTS);

/**
 * A free loopback port, for programs that cannot listen on port 0. Another server can take it before it is used, but no outgoing
 * connection can. @throws Error if the first hundred ports that it tries are all in use.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = FIRST_FREE_PORT + nextPort;
    nextPort = (nextPort + 1) % FREE_PORTS;
    if ((await tryToListen('127.0.0.1', port)) === undefined) return port;
  }
  throw new Error('no loopback port is free');
}
