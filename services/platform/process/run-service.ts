// The process of one service: its command line, configuration, ports, log, telemetry and shutdown.
import { getPriority, setPriority } from 'node:os';
import { createLogger, type Logger } from '../logging/logger.ts';
import { readTelemetryConfig, startTelemetry, type Telemetry } from '../observability/telemetry.ts';
import { runCommand } from './command.ts';
import { type CommonConfig, requireUsableTls } from './common-config.ts';
import { type EnvironmentReader, readEnvironment } from './config.ts';
import { type RunningProcess, runProcess } from './lifecycle.ts';
import { requireFreePorts, type WantedPort } from './ports.ts';
import { misspelled } from './variables.ts';

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
  await runCommand({ name: `npm run ${name}`, help }, () =>
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
  for (const [variable, meant] of misspelled(process.env))
    logger.warn({ variable, meant }, 'unknown variable');
  const telemetry = await startTelemetry({ config: watching, name, logger });
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
