// Keeps an embedded PostgreSQL from starting for as long as a test wants, so that nothing depends on how fast it is.
import { execFileSync } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

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
