// A folder for one import's temporary files, which is gone whatever ends the program.
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** `folder` is new, and readable for this account alone (mode 0700). `remove` may be called twice. */
export type Workplace = { folder: string; remove(): void };

export async function openWorkplace(): Promise<Workplace> {
  const folder = await mkdtemp(join(tmpdir(), 'moving-'));
  // SQLite sorts there what does not fit into its cache.
  Object.assign(process.env, { SQLITE_TMPDIR: folder });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.on('exit', remove);
  return {
    folder,
    remove() {
      process.off('exit', remove);
      remove();
    },
  };
}
