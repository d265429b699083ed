// npm run copy: copies a database in use to another one, and follows its changes.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { unreachable } from '../../platform/postgres/reachable.ts';
import { counted, runCommand, secondsSince } from '../../platform/process/command.ts';
import { readEnvironment } from '../../platform/process/config.ts';
import { readSessionUrl, readTargetUrl } from '../../platform/process/database-config.ts';
import { createNarrator } from '../../platform/process/narrator.ts';
import { flushLog, isRecording, startRecording, stopRecording } from './changes.ts';
import { copyAll, copyChanges } from './follow.ts';
import { requireCopyable } from './requirements.ts';
import { readTables } from './tables.ts';

const HELP = `Copies all rows of DATABASE_URL to the database of TARGET_DATABASE_URL, and follows the changes while the services run.
The target must be migrated by this release, have no users, and not be in use. It may be distributed by Citus.

  npm run copy

  Prints how many rows have changed, each second. To switch, stop the services, then send SIGINT (Ctrl-C) or SIGTERM: the command
  copies what is left, and ends. Started again after a failure, it copies everything again.

The source needs wal_level = logical and a superuser, and keeps its log for the command until it has ended as described.
To give up instead, run SELECT pg_drop_replication_slot('srs_copy') there.
Exits with 0 once everything is copied, and with 1 on failure. See docs/operations/citus.md.
`;

const PAUSE_MS = 100;
const CONNECT_MS = 10_000;
/**
 * Citus opens a connection for each shard that a statement writes to. Kept, 5,000 rows take a fifth of the time. One PostgreSQL
 * ignores the setting.
 */
const KEEP_CONNECTIONS = 'SET citus.max_cached_conns_per_worker = 64';
const REPORT_MS = 1000;
/** A signal this long after the first ends the command with work left. */
const IMPATIENT_MS = 1000;

await runCommand({ name: 'npm run copy', help: HELP }, async () => {
  const urls = readEnvironment(process.env, (reader) => ({
    source: readSessionUrl(reader, 'the PostgreSQL to copy from'),
    target: readTargetUrl(reader),
  }));
  const source = await connect('DATABASE_URL', urls.source);
  try {
    const target = await connect('TARGET_DATABASE_URL', urls.target);
    await copy(source, target).finally(() => target.end());
  } finally {
    await source.end();
  }
});

async function connect(variable: string, connectionString: string): Promise<Client> {
  const client = new Client({
    connectionString,
    application_name: 'copy',
    connectionTimeoutMillis: CONNECT_MS,
  });
  client.on('error', () => {});
  await client.connect().catch((error: unknown) => {
    throw unreachable(connectionString, error, variable);
  });
  await client.query('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0');
  return client;
}

async function copy(source: Client, target: Client): Promise<void> {
  const beganMs = performance.now();
  const schemas = await requireCopyable(source, target);
  await target.query(KEEP_CONNECTIONS);
  const tables = await readTables(source, schemas);
  const narrator = createNarrator();
  const say = (line: string) => {
    narrator.end();
    process.stdout.write(`${line}\n`);
  };
  const ending = hearSignals(say);
  try {
    narrator.say('waiting for the transactions of now');
    if (!(await isRecording(source))) await startRecording(source, schemas);
    narrator.say('copying');
    await copyAll(source, target, tables, ({ name }, rows) => {
      say(`${name}: ${counted(rows, 'row')}`);
      narrator.say('copying');
    });
  } finally {
    narrator.end();
  }
  say(`Copied in ${secondsSince(beganMs)}. Following the changes.`);
  let [copied, reportMs] = [0, performance.now()];
  for (let isLast = false; ; ) {
    // Before the round: whatever was written before the signal is in this round or an earlier one.
    if (ending.aborted && !isLast) {
      await flushLog(source);
      isLast = true;
    }
    const rows = await copyChanges(source, target, tables);
    copied += rows ?? 0;
    if (performance.now() - reportMs > REPORT_MS) {
      say(
        `${counted(copied, 'changed row')} in ${secondsSince(reportMs)}${rows === undefined ? ', and no more' : ''}`,
      );
      [copied, reportMs] = [0, performance.now()];
    }
    if (rows !== undefined) continue;
    if (isLast) break;
    await sleep(PAUSE_MS);
  }
  await stopRecording(source);
  say(`Everything is copied, in ${secondsSince(beganMs)}.`);
}

/** @returns a signal that aborts with the first SIGINT or SIGTERM. A later one ends the process. */
function hearSignals(say: (line: string) => void): AbortSignal {
  const ending = new AbortController();
  let beganMs: number | undefined;
  const hear = () => {
    beganMs ??= performance.now();
    // Under npm, Ctrl-C arrives twice at once: from the terminal, and forwarded by npm.
    if (performance.now() - beganMs > IMPATIENT_MS) process.exit(1);
    if (ending.signal.aborted) return;
    ending.abort();
    say('Ending, once everything is copied. A second Ctrl-C ends at once.');
  };
  process.on('SIGINT', hear);
  process.on('SIGTERM', hear);
  return ending.signal;
}
