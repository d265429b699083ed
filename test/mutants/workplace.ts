// What a run of mutants works with, and leaves nothing of: a folder, a PostgreSQL and the programs it starts.
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../services/embedded-postgres/embedded-postgres.ts';
import { createMigratedTemplate } from '../support/migrated-template.ts';
import { type Child, startChild } from './child.ts';

/** Runs Node with `args` in the root of the checkout, with `env` beside this program's own. */
export type RunChild = (args: readonly string[], env: NodeJS.ProcessEnv) => Child['ended'];
export type Workplace = {
  folder: string;
  /** `told` hears how many mutants of how many have been tried. */
  run(
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    told: (done: number, total: number) => void,
  ): Child['ended'];
  close(): Promise<void>;
};

/** For the whole of this process: whatever it and its programs put into the temporary directory goes there. */
export async function openWorkplace(root: string): Promise<Workplace> {
  const folder = mkdtempSync(join(tmpdir(), 'srs-mutants-'));
  // As root the server runs as another account, which has to pass this folder.
  chmodSync(folder, 0o755);
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary, { mode: 0o755 });
  process.env.TMPDIR = temporary;
  const children = new Set<Child>();
  const removeFolder = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  try {
    const postgres = await startEmbeddedPostgres({ directory: join(folder, 'postgres'), durable: false });
    await createMigratedTemplate(postgres.databaseUrl);
    let closing: Promise<void> | undefined;
    const close = async () => {
      for (const child of children) child.end();
      await Promise.all([...children].map(({ ended }) => ended));
      await postgres.stop();
      removeFolder();
    };
    return {
      folder,
      async run(args, env, told) {
        const child = startChild(args, {
          root,
          env: { ...env, MUTANTS_POSTGRES_URL: postgres.databaseUrl },
          told,
        });
        children.add(child);
        return child.ended.finally(() => children.delete(child));
      },
      close: () => (closing ??= close()),
    };
  } catch (error) {
    removeFolder();
    throw error;
  }
}
