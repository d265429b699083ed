// Where the lines of npm start go: on a terminal into a file, so that they do not scroll the addresses and the key away.
import { existsSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Audit,
  createAudit,
  createLogger,
  createTerminalErrors,
  type Logger,
  openLines,
} from '../../platform/logging/logger.ts';
import type { LogLevel } from '../../platform/process/common-config.ts';
import { makeWritableFolder } from '../../platform/process/writable-folder.ts';

/** A longer file becomes log.old, and a new one begins. */
const MAX_BYTES = 10 * 1024 * 1024;

export type StartLog = {
  logger: Logger;
  audit: Audit;
  /** undefined: all lines go to standard error. */
  file: string | undefined;
};

/**
 * `logLevel` undefined: LOG_LEVEL is not set. Then, on a terminal, all lines go to DATA_DIR/log, and errors to the terminal too.
 * @throws Error if DATA_DIR is not writable.
 */
export function openStartLog(dataDir: string, logLevel: LogLevel | undefined): StartLog {
  if (logLevel !== undefined || !process.stderr.isTTY) {
    return {
      logger: createLogger('start', logLevel ?? 'info'),
      audit: createAudit('start'),
      file: undefined,
    };
  }
  const file = join(dataDir, 'log');
  makeWritableFolder(dataDir);
  const lines = openLines({ dest: file, mode: 0o600, sync: true });
  let bytes = statSync(file).size;
  lines.on('write', (written) => {
    bytes += written;
    if (bytes <= MAX_BYTES) return;
    bytes = 0;
    // Somebody may have moved or deleted the file.
    if (existsSync(file)) renameSync(file, `${file}.old`);
    lines.reopen();
  });
  return {
    logger: createLogger('start', 'info', createTerminalErrors(lines)),
    audit: createAudit('start', lines),
    file,
  };
}
