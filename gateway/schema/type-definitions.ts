// The text of the schema: the files of this folder, the enumerations of the protos, and the arguments and types of the connections.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readEnumerations } from './enumerations.ts';

const FOLDER = import.meta.dirname;
/** Of each field that is a connection. */
const PAGE = '"1 to 100." first: Int = 20, "Cursor to go on after." after: String';

/** A connection that the files do not define has one form; where it has more fields, they extend it. */
export function readTypeDefinitions(): string {
  const files = globSync('*.graphql', { cwd: FOLDER }).toSorted();
  const text = files
    .map((file) => readFileSync(join(FOLDER, file), 'utf8'))
    .join('\n')
    .replace(/\)(: \w+Connection!)/g, ` ${PAGE})$1`)
    .replace(/^( *\w+)(: \w+Connection!)/gm, `$1(${PAGE})$2`);
  const isDefined = (row: string) => new RegExp(`^type ${row}Connection\\b`, 'm').test(text);
  const rows = new Set([...text.matchAll(/: (\w+)Connection!/g)].map(([, row = '']) => row));
  const connections = [...rows].filter((row) => !isDefined(row)).map(connectionOf);
  return [text, readEnumerations(), ...connections].join('\n');
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
