// A vitest setup file: shows mutants to test/scheduling/statements.test.ts too, which judges statements without sending them.
import { vi } from 'vitest';
import type * as Actual from '../../scheduling/statement-recorder.ts';
import { noteSent, replacements } from './rewrite.ts';

vi.mock('../../scheduling/statement-recorder.ts', async (load) => {
  const actual = (await load()) as typeof Actual;
  const originals = new Map([...replacements].map(([text, mutant]) => [withoutDropped(mutant), text]));
  return {
    ...actual,
    async recordStatements() {
      const heard = await actual.recordStatements();
      const statements = heard.statements.map(({ functionName, text }) => {
        noteSent(text);
        return { functionName, text: withoutDropped(replacements.get(text) ?? text) };
      });
      return { ...heard, statements };
    },
    // Whether the sources' SQL is issued: they are not what is mutated here.
    isRecorded: (piece: string, statements: readonly Actual.RecordedStatement[]) =>
      actual.isRecorded(
        piece,
        statements.map(({ functionName, text }) => ({ functionName, text: originals.get(text) ?? text })),
      ),
  };
});

const DROPPED = ') OR true)';

/** What PostgreSQL is sent keeps a dropped condition beside OR true; here it is gone, as it would be from the source. */
function withoutDropped(sql: string): string {
  const end = sql.indexOf(DROPPED);
  let depth = 0;
  for (let index = end; index > 0; index--) {
    if (sql[index] === ')') depth += 1;
    if (sql[index] === '(') depth -= 1;
    if (depth === 0) return `${sql.slice(0, index - 1)}true${sql.slice(end + DROPPED.length)}`;
  }
  return sql;
}
