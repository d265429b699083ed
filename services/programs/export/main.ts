// npm run export: moves a collection out.
import { createWriteStream, existsSync, rmSync } from 'node:fs';
import { rename, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { exportOf, recordsOf, writeMaterials } from '../../../gateway/exports/collection.ts';
import { writePackage } from '../../moving/anki/write.ts';
import type { Exported } from '../../moving/jsonl/write.ts';
import { openWorkplace, withinDisk } from '../../moving/workplace.ts';
import { ServiceError } from '../../platform/errors.ts';
import { counted, runCommand, UsageError } from '../../platform/process/command.ts';
import { createNarrator } from '../../platform/process/terminal.ts';
import { UNWRITABLE } from '../../platform/process/writable-folder.ts';
import { errorCode } from '../../platform/thrown.ts';
import { requireTimeZone } from '../../platform/time-zone.ts';
import { explain, givenPath, print } from '../service-command.ts';
import { withUser } from '../services.ts';
import { exitOnSignals } from '../signals.ts';

const HELP = `Moves a collection out: all materials of a user, archived ones too.

  npm run export -- --email E --as jsonl|csv|apkg [FILE] [--time-zone Z]

  --email E      whose it is
  --as FORM      jsonl: everything, which npm run import takes again
                 csv: one row per material, for a spreadsheet
                 apkg: cards and reviews, for Anki
  FILE           is replaced if it exists, once all is written. Default: standard output
  --time-zone Z  where the days begin on which Anki shows a card. Default: the user's

docs/moving.md says what each form contains.

Examples
  npm run export -- --email ada@example.com --as apkg ada.apkg
  npm run --silent export -- --email ada@example.com --as jsonl | gzip > ada.jsonl.gz

The command calls ACCOUNTS_URL and SCHEDULING_URL (default 127.0.0.1:50052 and :50051), which "npm start" serves. On failure it
exits with 1 and prints "CODE: message", where CODE is one of the API's error codes.
`;

const options = {
  email: { type: 'string' },
  as: { type: 'string' },
  'time-zone': { type: 'string' },
} as const;
const FORMS = ['jsonl', 'csv', 'apkg'] as const;

await runCommand(
  { name: 'npm run export', help: HELP, options, takesOperands: true, explain },
  async ({ email, as, 'time-zone': zone }, operands) => {
    const [path] = operands;
    if (operands.length > 1) throw new UsageError('Name one file.');
    const form = FORMS.find((known) => known === as);
    if (form === undefined) throw new UsageError(`--as must be one of ${FORMS.join(', ')}.`);
    if (form === 'apkg' && path === undefined && process.stdout.isTTY)
      throw new UsageError('A package cannot be shown on a terminal. Name a file.');
    if (zone !== undefined) requireTimeZone('time_zone', zone);
    exitOnSignals();
    const workplace = await openWorkplace();
    const narrator = createNarrator();
    try {
      await withUser({ email }, 'export', async (user, clients) => {
        const call = { requestId: crypto.randomUUID() };
        const exported = told(exportOf(clients, user.userId, call), narrator);
        const place = { folder: workplace.folder, timeZone: zone ?? user.timeZone, nowMs: Date.now() };
        const output =
          form === 'apkg'
            ? await withinDisk(() => writePackage(recordsOf(exported), place))
            : Readable.from(writeMaterials(exported, form));
        await (path === undefined ? print(output) : writeFile(output, givenPath(path)));
      });
    } finally {
      narrator.end();
      workplace.remove();
    }
  },
);

/** Passes `all` on, and shows the number of materials so far. */
async function* told(
  all: AsyncIterable<Exported>,
  narrator: ReturnType<typeof createNarrator>,
): AsyncGenerator<Exported> {
  let count = 0;
  for await (const exported of all) {
    yield exported;
    if (!exported.wholeMaterial || exported.wholeMaterial.continues) continue;
    count += 1;
    if (count % 500 === 0) narrator.say(counted(count, 'material'));
  }
}

/** Writes to a temporary file and renames it, so that the file is complete or missing. A pipe or device is written directly. */
async function writeFile(output: NodeJS.ReadableStream, path: string): Promise<void> {
  const isReplaced = await stat(path).then(
    (info) => info.isFile(),
    () => true,
  );
  const target = isReplaced ? `${path}.${process.pid}.part` : path;
  if (isReplaced) process.on('exit', () => existsSync(target) && rmSync(target));
  try {
    await pipeline(output, createWriteStream(target, { mode: 0o600 }));
    if (isReplaced) await rename(target, path);
  } catch (error) {
    const fault = UNWRITABLE[errorCode(error)];
    if (fault === undefined) throw error;
    const message = `${path} cannot be written: ${fault}.`;
    throw new ServiceError('INVALID_REQUEST', { field: 'FILE', message, cause: error });
  }
}
