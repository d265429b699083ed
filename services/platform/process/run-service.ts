// The process of a service: its command line, configuration, ports, log and telemetry; start, signals, and a shutdown within a time limit.
import { getPriority, setPriority } from 'node:os';
import { createLogger, type Logger } from '../logging/logger.ts';
import { readTelemetryConfig, startTelemetry, type Telemetry } from '../observability/telemetry.ts';
import { toError } from '../thrown.ts';
import { certificateCheck } from './certificate-dates.ts';
import { runCommand } from './command.ts';
import { type CommonConfig, requireUsableTls } from './common-config.ts';
import { ConfigError, type EnvironmentReader, readEnvironment } from './config.ts';
import { requireFreePorts, type WantedPort } from './ports.ts';
import { unknownVariables } from './variables.ts';

type Parts<C> = { config: C; logger: Logger; telemetry: Telemetry; stopping: AbortSignal };

type Service<C> = {
  /** The program's name, and that of its npm script. */
  name: string;
  /** For --help, a sentence each: what the service does, and what it reads. */
  does: string;
  reads: string;
  readConfig: (reader: EnvironmentReader) => C;
  ports: (config: C) => WantedPort[];
  /** From 0 to 19: how far it gives way to other processes where the CPU is short. Default: as it was started. */
  niceness?: number;
  /** May throw the reason of `stopping` once it aborts. `close` may use all of SHUTDOWN_TIMEOUT_MS. */
  start: (parts: Parts<C>) => Promise<{ port: number; close(timeoutMs: number): Promise<void> }>;
};

/** Runs the service until a signal; with --help, prints how it is called. */
export async function runService<C extends CommonConfig>(service: Service<C>): Promise<void> {
  const { name, does, reads } = service;
  const help = `${does}

  npm run ${name}

${reads}
docs/configuration.md lists every variable. Ctrl-C and SIGTERM stop it.
`;
  await runCommand({ name: `npm run ${name}`, help, ignoresOutputErrors: true }, () =>
    runProcess((stopping) => begin(service, stopping)),
  );
}

async function begin<C extends CommonConfig>(
  { name, readConfig, ports, niceness = 0, start }: Service<C>,
  stopping: AbortSignal,
): Promise<RunningProcess> {
  if (niceness > getPriority()) setPriority(niceness);
  const { config, watching } = readEnvironment(process.env, (reader) => ({
    config: readConfig(reader),
    watching: readTelemetryConfig(reader),
  }));
  requireUsableTls(config.trust.tls);
  await requireFreePorts([
    ...ports(config),
    ...(watching.ops === undefined ? [] : [{ name: 'OPS_PORT', ...watching.ops }]),
  ]);
  const logger = createLogger(name, config.logLevel);
  for (const [variable, meant] of unknownVariables(process.env))
    logger.warn({ variable, meant }, 'unknown variable');
  const telemetry = await startTelemetry({ config: watching, name, logger });
  const { tls } = config.trust;
  if (tls !== undefined) telemetry.readiness.add(certificateCheck(tls.certificate));
  const service = await start({ config, logger, telemetry, stopping });
  logger.info({ host: config.host, port: service.port }, `${name} is ready`);
  telemetry.started();
  return {
    logger,
    timeoutMs: config.shutdownTimeoutMs,
    async close() {
      telemetry.stopping();
      await service.close(config.shutdownTimeoutMs);
      await telemetry.close();
    },
  };
}

/** A signal this long after the first forces the exit. */
const IMPATIENT_MS = 1000;
/** Time limit of the shutdown after an uncaught error. */
const BROKEN_TIMEOUT_MS = 3000;

export type RunningProcess = {
  logger: Logger;
  timeoutMs: number;
  close(): Promise<void>;
  /** Resolves to the error that ends the process; to undefined after a regular stop. */
  failed?: Promise<Error | undefined> | undefined;
};

/** A program that was told to stop before it had started. */
class StoppedEarlyError extends Error {}

/**
 * Runs `start`; on SIGINT, SIGTERM or SIGHUP calls the returned `close`. A signal before that aborts the signal of `start`, which
 * may then throw StoppedEarlyError: exit code 0. A second signal after more than a second, or `timeoutMs`, exits at once with 1.
 * A failed start prints its reason and exits with 1.
 * An uncaught error or unhandled rejection is logged as fatal, followed by a shutdown within 3 s and exit code 1. If `failed`
 * resolves to an error, its message is printed, followed by a shutdown and exit code 1.
 */
export async function runProcess(start: (stopping: AbortSignal) => Promise<RunningProcess>): Promise<void> {
  let running: RunningProcess | undefined;
  let exitCode = 0;
  let stopTime: number | undefined;
  const stopRequested = Promise.withResolvers<undefined>();
  const stopping = new AbortController();
  const stop = () => {
    stopTime ??= performance.now();
    // Under npm, Ctrl-C arrives twice at once: from the terminal, and forwarded by npm.
    if (performance.now() - stopTime > IMPATIENT_MS) process.exit(1);
    stopping.abort(new StoppedEarlyError('stopped during the start'));
    stopRequested.resolve(undefined);
  };
  // SIGHUP: the terminal was closed.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop);
  // Also called for unhandled rejections.
  process.on('uncaughtException', (error, origin) => {
    if (running === undefined) exitAfterFailedStart(error);
    running.logger.fatal({ err: error, origin }, 'uncaught error; exiting');
    exitCode = 1;
    setTimeout(() => process.exit(1), BROKEN_TIMEOUT_MS);
    stopRequested.resolve(undefined);
  });
  running = await start(stopping.signal).catch(exitAfterFailedStart);
  const { timeoutMs, close, failed } = running;
  const failure = await Promise.race([stopRequested.promise, failed ?? stopRequested.promise]);
  if (failure !== undefined) {
    process.stderr.write(`${failure.message}\n`);
    exitCode = 1;
  }
  const timer = setTimeout(() => {
    process.stderr.write(`The shutdown took longer than ${timeoutMs} ms; exiting now.\n`);
    process.exit(1);
  }, timeoutMs);
  await close().finally(() => clearTimeout(timer));
  process.exitCode = exitCode;
  // Handles that a library leaves open must not keep the process alive.
  setTimeout(() => process.exit(exitCode), 200).unref();
}

function exitAfterFailedStart(error: unknown): never {
  if (error instanceof StoppedEarlyError) process.exit(0);
  const text = error instanceof ConfigError ? error.message : `Could not start: ${toError(error).message}`;
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

/**
 * Closes the parts of a program one at a time in reverse order, so that dependencies close last. A failure does not keep the other parts
 * open. @throws the first error, after all parts have been closed.
 */
export async function closeInReverse(closers: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const close of closers.toReversed()) await close().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
