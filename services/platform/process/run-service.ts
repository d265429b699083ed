// The process of one service: its configuration, log, telemetry and shutdown.
import { createLogger, type Logger } from '../logging/logger.ts';
import { readTelemetryConfig, startTelemetry, type Telemetry } from '../observability/telemetry.ts';
import type { CommonConfig } from './common-config.ts';
import { type EnvironmentReader, readEnvironment } from './config.ts';
import { runProcess } from './lifecycle.ts';

type Parts<C> = { config: C; logger: Logger; telemetry: Telemetry };
type Service = { port: number; close(timeoutMs: number): Promise<void> };

/** Runs the service until a signal. `name` is the program's name; `close` may use all of SHUTDOWN_TIMEOUT_MS. */
export async function runService<C extends CommonConfig & { host: string }>(
  name: string,
  readConfig: (reader: EnvironmentReader) => C,
  start: (parts: Parts<C>) => Promise<Service>,
): Promise<void> {
  await runProcess(async () => {
    const { config, watching } = readEnvironment(process.env, (reader) => ({
      config: readConfig(reader),
      watching: readTelemetryConfig(reader),
    }));
    const logger = createLogger(name, config.logLevel);
    const telemetry = await startTelemetry({ config: watching, name, logger });
    const service = await start({ config, logger, telemetry });
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
  });
}
