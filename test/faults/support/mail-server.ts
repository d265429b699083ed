// A mail server that can be killed and started again on its port; what it took is kept.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type MailServer = Awaited<ReturnType<typeof startMailServer>>;

/** `delayMs`: time that it takes for each message. */
export async function startMailServer({ delayMs = 0 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'srs-mails-'));
  const file = join(folder, 'taken');
  writeFileSync(file, '');
  let child: ChildProcess;
  const start = async (port: number): Promise<number> => {
    child = fork(join(import.meta.dirname, 'smtp-sink.ts'), [file, `${port}`, `${delayMs}`]);
    const [started] = await once(child, 'message');
    return started.port;
  };
  const kill = async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  const port = await start(0);
  const lines = () => readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return {
    url: `smtp://127.0.0.1:${port}`,
    kill,
    restart: () => start(port),
    /** How many messages it took, doubles included. */
    count: () => lines().length,
    /** Of what it took: recipients, messages beyond the first of a Message-ID, and recipients of several Message-IDs. */
    taken() {
      const idsOf = new Map<string, Set<string>>();
      const copies = new Map<string, number>();
      for (const line of lines()) {
        const [id = '', recipient = ''] = line.split(' ');
        idsOf.set(recipient, (idsOf.get(recipient) ?? new Set()).add(id));
        copies.set(id, (copies.get(id) ?? 0) + 1);
      }
      return {
        recipients: idsOf.size,
        doubles: [...copies.values()].reduce((sum, count) => sum + count - 1, 0),
        withSeveralIds: [...idsOf.values()].filter((ids) => ids.size > 1).length,
      };
    },
    async stop() {
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
}
