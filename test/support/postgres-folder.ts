// A temporary folder for an embedded PostgreSQL, and what takes it away again.
import { chmodSync, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** `directory` is for startEmbeddedPostgres; `remove` once its server has ended. */
export function makePostgresFolder(prefix: string): { directory: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  // As root the server runs as another account, which has to pass this folder.
  chmodSync(folder, 0o755);
  const directory = join(folder, 'postgres');
  return {
    directory,
    remove() {
      // Where that account cannot pass the temporary directory, the data lie behind a link.
      if (existsSync(directory)) rmSync(realpathSync(directory), { recursive: true, force: true });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
