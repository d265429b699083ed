// Keeps an embedded PostgreSQL from starting for as long as a test wants, so that nothing depends on how fast it is.
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

/** The next server on `data` waits for its configuration, a named pipe, until the returned function puts the file back. */
export function holdServerStart(data: string): () => void {
  const place = (name: string) => join(data, name);
  const file = place('postgresql.conf');
  execFileSync('mkfifo', ['-m', '666', place('pipe')]);
  renameSync(file, place('kept.conf'));
  renameSync(place('pipe'), file);
  return () => {
    renameSync(file, place('pipe'));
    renameSync(place('kept.conf'), file);
    writeFileSync(place('pipe'), '');
  };
}

/**
 * Resolves once the server that is held on `data` reads the pipe: from then on it notes a signal, and follows it once it has started.
 * It waits on until the returned function is called.
 */
export async function untilServerReads(data: string): Promise<() => void> {
  // Fails until there is a reader.
  const open = () => openSync(join(data, 'postgresql.conf'), constants.O_WRONLY | constants.O_NONBLOCK);
  let pipe = 0;
  await expect.poll(() => (pipe = open())).toBeGreaterThan(0);
  return () => closeSync(pipe);
}
