// The text of the schema: the files of this folder, and the types of the connections that they name.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = import.meta.dirname;

/** A connection that the files do not define has one form; where it has more fields, they extend it. */
export function readTypeDefinitions(): string {
  const files = globSync('*.graphql', { cwd: FOLDER }).toSorted();
  const text = files.map((file) => readFileSync(join(FOLDER, file), 'utf8')).join('\n');
  const isDefined = (row: string) => new RegExp(`^type ${row}Connection\\b`, 'm').test(text);
  const rows = new Set([...text.matchAll(/: (\w+)Connection!/g)].map(([, row = '']) => row));
  return [text, ...[...rows].filter((row) => !isDefined(row)).map(connectionOf)].join('\n');
}

const connectionOf = (row: string) => `
"A page of a list. Each row is of the type ${row}."
type ${row}Connection {
  "The rows."
  nodes: [${row}!]!
  "Where the page lies."
  pageInfo: PageInfo!
}
`;
