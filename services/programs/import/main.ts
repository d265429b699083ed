// npm run import: moves a collection of Anki, Mnemosyne, a spreadsheet or this service in.

import { constants, setPriority } from 'node:os';
import type { Clients } from '../../../gateway/clients.ts';
import { createFindings } from '../../moving/findings.ts';
import { type Collection, FORMS, type Form, openCollectionFile } from '../../moving/open.ts';
import { openWorkplace, withinDisk } from '../../moving/workplace.ts';
import { hasReason } from '../../platform/errors.ts';
import { runCommand, secondsSince, UsageError } from '../../platform/process/command.ts';
import { createNarrator, createProgress } from '../../platform/process/terminal.ts';
import { requireTimeZone } from '../../platform/time-zone.ts';
import { explain, givenPath } from '../service-command.ts';
import { withUser } from '../services.ts';
import { stopOnSignals } from '../signals.ts';
import { goOn, stored, summary, toReason } from './report.ts';
import { emptyOutcome, sendRecords } from './send.ts';

const HELP = `Moves a collection in: its cards, when each is due, and its reviews.

  npm run import -- FILE --email E [--as apkg|csv|jsonl|mnemosyne] [--time-zone Z] [--dry-run] [--json]

  FILE           a package or collection of Anki (.apkg, .colpkg, .anki2), CSV or TSV, JSONL of this service, a database of
                 Mnemosyne, XML of smconv. Its content says which, not its name
  --email E      whose it becomes; the user must exist
  --as FORM      fails if the file is of another form
  --time-zone Z  where the days of the collection begin, such as Europe/Berlin. Default: the user's
  --dry-run      says what would happen, and changes nothing
  --json         ends with one object: materials and reviews, each {new, changed, unchanged, left}, and reasons

The same file again changes nothing, and a newer one of the same collection only what is new in it. Ctrl-C leaves whole cards;
the same command goes on. A file that is damaged is refused before anything of it is stored. docs/moving.md says what comes over.

Examples
  npm run import -- collection.apkg --email ada@example.com --time-zone Europe/Berlin --dry-run
  npm run --silent import -- words.csv --email ada@example.com --json

The command calls ACCOUNTS_URL and SCHEDULING_URL (default 127.0.0.1:50052 and :50051), which "npm start" serves. On failure it
exits with 1 and prints "CODE: message", where CODE is one of the API's error codes; after Ctrl-C with 130.
`;

const options = {
  email: { type: 'string' },
  as: { type: 'string' },
  'time-zone': { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const;

const STOPPED = 130;

// On a machine that it shares with the services, their other requests go first.
setPriority(constants.priority.PRIORITY_LOW);

await runCommand(
  { name: 'npm run import', help: HELP, options, takesOperands: true, explain },
  async ({ email, as, 'time-zone': zone, 'dry-run': dryRun, json }, operands) => {
    const [path] = operands;
    if (path === undefined || operands.length > 1) throw new UsageError('Name one file.');
    const form = requireForm(as);
    if (zone !== undefined) requireTimeZone('time_zone', zone);
    const stop = stopOnSignals();
    const workplace = await openWorkplace();
    try {
      return await withinDisk(() =>
        withUser({ email }, 'import', async (user, clients) => {
          const narrator = createNarrator();
          narrator.say('reading the file');
          const nowMs = Date.now();
          const timeZone = zone ?? user.timeZone;
          const opening = openCollectionFile(givenPath(path), { workplace, timeZone, nowMs, as: form });
          const collection = await opening.finally(narrator.end);
          try {
            return await importCollection(collection, clients, { userId: user.userId, dryRun, json, stop });
          } finally {
            collection.close();
          }
        }),
      );
    } finally {
      workplace.remove();
    }
  },
);

function requireForm(as: string | undefined): Form | undefined {
  const form = FORMS.find((known) => known === as);
  if (as !== undefined && form === undefined)
    throw new UsageError(`--as must be one of ${FORMS.join(', ')}.`);
  return form;
}

type Import = { userId: string; dryRun: boolean; json: boolean; stop: ReturnType<typeof stopOnSignals> };

/** @returns the exit code. */
async function importCollection(
  collection: Collection,
  { userData }: Clients,
  { userId, dryRun, json, stop }: Import,
): Promise<number> {
  const beganMs = performance.now();
  const findings = createFindings();
  const outcome = emptyOutcome();
  const progress = createProgress('materials', collection.materials);
  stop.wait();
  const sending = {
    userId,
    dryRun,
    settings: collection.settings,
    advance: progress.advance,
    isStopped: stop.isAsked,
  };
  try {
    await sendRecords(userData.importUserData, collection.records(findings), sending, outcome);
  } catch (error) {
    progress.end();
    if (stored(outcome) > 0 && hasReason(error, 'UNAVAILABLE'))
      process.stderr.write(`${goOn(outcome, dryRun)}\n`);
    throw error;
  }
  progress.end();
  outcome.materials.left += findings.left.material;
  outcome.reviews.left += findings.left.review;
  // A spreadsheet has schedules without their reviews.
  const problems = outcome.problems.filter(
    ({ kind }) => collection.form !== 'csv' || !kind.endsWith('_DRIFT'),
  );
  const reasons = [...findings.reasons(), ...problems.map(toReason)].sort((a, b) => b.count - a.count);
  const { materials, reviews } = outcome;
  process.stdout.write(
    json
      ? `${JSON.stringify({ materials, reviews, reasons }, null, 2)}\n`
      : summary(outcome, reasons, { dryRun, time: secondsSince(beganMs) }),
  );
  if (!stop.isAsked()) return 0;
  process.stderr.write(`${goOn(outcome, dryRun)}\n`);
  return STOPPED;
}
