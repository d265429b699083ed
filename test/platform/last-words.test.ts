// What is told of the embedded PostgreSQL where it has ended: its own words, none of its users'.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lastWords } from '../../services/embedded-postgres/server.ts';

test('begin with what was fatal, and hold no statement, and nothing that a user has written', () => {
  expect(
    wordsOf([
      'LOG:  database system is ready to accept connections',
      'PANIC:  could not write to file "pg_wal/xlogtemp.7": No space left on device',
      'ERROR:  duplicate key value violates unique constraint "users_folded_email_key"',
      'DETAIL:  Key (folded_email)=(ada@example.com) already exists.',
      "STATEMENT:  INSERT INTO accounts.users VALUES ('ada@example.com')",
      'LOG:  all server processes terminated; reinitializing',
    ]),
  ).toBe(
    'PANIC:  could not write to file "pg_wal/xlogtemp.7": No space left on device; ' +
      'LOG:  all server processes terminated; reinitializing',
  );
});

test('are the last five lines where none was fatal, and none where there is no log', () => {
  const lines = ['1', '2', '3', '4', '5', '6'].map((number) => `LOG:  line ${number}`);
  expect(wordsOf(lines)).toBe('LOG:  line 2; LOG:  line 3; LOG:  line 4; LOG:  line 5; LOG:  line 6');
  expect(lastWords('/nowhere/postgres.log')).toBe('');
});

function wordsOf(lines: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'srs-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const log = join(folder, 'postgres.log');
  writeFileSync(log, lines.map((line) => `2026-11-23 12:00:00.000 UTC [7] ${line}\n`).join(''));
  return lastWords(log);
}
