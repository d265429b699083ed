// npm run copy: copies a database in use to another one, and follows its changes.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { accountsSchema } from '../../accounts/service.ts';
import { counted, runCommand, secondsSince } from '../../platform/process/command.ts';
import { readEnvironment } from '../../platform/process/config.ts';
import { readSessionUrl } from '../../platform/process/database-config.ts';
import { remindersSchema } from '../../reminders/core.ts';
import { schedulingSchema } from '../../scheduling/service.ts';
import { flushLog, startRecording, stopRecording } from './changes.ts';
import { copyAll, copyChanges } from './follow.ts';
import { readTables } from './tables.ts';

const HELP = `Copies all rows of DATABASE_URL to the database of TARGET_DATABASE_URL, and follows the changes while the services run.
The target must be migrated by this release, and not be in use. It may be distributed by Citus.

  npm run copy

  Prints how many rows have changed, each second. To switch, stop the services, then send SIGINT (Ctrl-C) or SIGTERM: the command
  copies what is left, and ends. Started again after a failure, it copies everything again.

The source needs wal_level = logical and a superuser, and keeps its log for the command until it has ended as described. Exits
with 0 once everything is copied, and with 1 on failure. See docs/operations/citus.md.
`;

const SCHEMAS = [accountsSchema, schedulingSchema, remindersSchema].map(({ schema }) => schema);
const PAUSE_MS = 100;
/**
 * Citus opens a connection for each shard that a statement writes to. Kept, 5,000 rows take a fifth of the time. One PostgreSQL
 * ignores the setting.
 */
const KEEP_CONNECTIONS = 'SET citus.max_cached_conns_per_worker = 64';
const REPORT_MS = 1000;

await runCommand({ name: 'npm run copy', help: HELP }, async () => {
  const urls = readEnvironment(process.env, (reader) => ({
    source: readSessionUrl(reader, 'the PostgreSQL to copy from'),
    target: reader.required('TARGET_DATABASE_URL', 'the PostgreSQL to copy to'),
  }));
  let isEnding = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      isEnding = true;
    });
  const [source, target] = [await connect(urls.source), await connect(urls.target)];
  await target.query(KEEP_CONNECTIONS);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const beganMs = performance.now();
  try {
    // Reminders has none where it has never run.
    const { rows } = await source.query('SELECT nspname AS name FROM pg_namespace WHERE nspname = ANY($1)', [
      SCHEMAS,
    ]);
    const schemas = rows.map(({ name }) => name);
    const tables = await readTables(source, schemas);
    await startRecording(source, schemas);
    await copyAll(source, target, tables, ({ name }, rows) => say(`${name}: ${counted(rows, 'row')}`));
    say(`Copied in ${secondsSince(beganMs)}. Following the changes.`);
    let [copied, reportMs] = [0, performance.now()];
    for (let isLast = false; ; ) {
      // Before the round: whatever was written before the signal is in this round or an earlier one.
      if (isEnding && !isLast) {
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
  } finally {
    await Promise.all([source.end(), target.end()]);
  }
});

async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString, application_name: 'copy' });
  client.on('error', () => {});
  await client.connect();
  await client.query('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0');
  return client;
}
