import { expect, test } from 'vitest';
import { splitStatements } from '../../services/platform/postgres/migrate.ts';

test.each([
  ['SELECT 1', ['SELECT 1']],
  ['SELECT 1; SELECT 2;\n', ['SELECT 1', 'SELECT 2']],
  ['-- first; still\nSELECT 1; /* a; b */ SELECT 2', ['SELECT 1', 'SELECT 2']],
  [`SELECT ';', 'it''s; so'; SELECT "a;b"`, [`SELECT ';', 'it''s; so'`, 'SELECT "a;b"']],
  ['DO $$ BEGIN; END $$; SELECT 1', ['DO $$ BEGIN; END $$', 'SELECT 1']],
  ['DO $f$ SELECT $$;$$; $f$; SELECT $1', ['DO $f$ SELECT $$;$$; $f$', 'SELECT $1']],
  ['SELECT 3 - 2, 4 / 2; -- end', ['SELECT 3 - 2, 4 / 2']],
  [' ; ;', []],
])('%s is split', (sql, statements) => {
  expect(splitStatements(sql)).toEqual(statements);
});
