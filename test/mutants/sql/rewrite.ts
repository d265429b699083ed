// A vitest setup file: notes the statements that a test file sends, or sends a mutant in the place of one.
import { appendFileSync, readFileSync } from 'node:fs';
import { Client } from 'pg';
import { afterAll, afterEach, beforeEach, expect } from 'vitest';
import type { Replacements, Sent } from './mutants.ts';

const { SQL_MUTANT, SQL_STATEMENTS } = process.env;
export const replacements: ReadonlyMap<string, string> = new Map(
  SQL_MUTANT === undefined
    ? []
    : Object.entries(JSON.parse(readFileSync(SQL_MUTANT, 'utf8')) as Replacements),
);
const sent = new Set<string>();
export const noteSent = (text: string) => void sent.add(text);

const { query } = Client.prototype;
/** The services send their statements as objects, tests send theirs as strings. */
function rewritten(this: Client, statement: unknown, ...others: unknown[]): unknown {
  if (typeof statement === 'object' && statement !== null && 'text' in statement) {
    const { text } = statement as { text: string };
    noteSent(text);
    const mutant = replacements.get(text);
    if (mutant !== undefined) return Reflect.apply(query, this, [{ ...statement, text: mutant }, ...others]);
  }
  return Reflect.apply(query, this, [statement, ...others]);
}
Object.assign(Client.prototype, { query: rewritten });

// Once a test has noticed a mutant the others have nothing to add.
let hasFailed = false;
beforeEach(({ skip }) => {
  if (SQL_MUTANT !== undefined && hasFailed) skip();
});
afterEach(({ task }) => {
  hasFailed ||= task.result?.state === 'fail';
});

afterAll(() => {
  if (SQL_STATEMENTS === undefined) return;
  const record: Sent = { file: expect.getState().testPath ?? '', statements: [...sent] };
  appendFileSync(SQL_STATEMENTS, `${JSON.stringify(record)}\n`);
});
