// The text of the schema: the files in gateway/schema, and the types of the connections that they name.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../schema');

/** A connection that the files do not define has one form; where it has more fields, they extend it. */
export function readTypeDefinitions(): string {
  const files = readdirSync(FOLDER).toSorted();
  const text = files.map((file) => readFileSync(join(FOLDER, file), 'utf8')).join('\n');
  const isDefined = (row: string) => new RegExp(`^type ${row}Connection\\b`, 'm').test(text);
  const rows = new Set([...text.matchAll(/: (\w+)Connection!/g)].map(([, row = '']) => row));
  return [text, ...[...rows].filter((row) => !isDefined(row)).map(connectionOf)].join('\n');
}

/** As in Relay's specification (relay.dev/graphql/connections.htm), and the rows alone. */
const connectionOf = (row: string) => `
"A page of a list. Each row is of the type ${row}."
type ${row}Connection {
  "Rows with their cursors."
  edges: [${row}Edge!]!
  "The rows alone."
  nodes: [${row}!]!
  "Where the page lies."
  pageInfo: PageInfo!
}

"A row in a page."
type ${row}Edge {
  "To go on after this row."
  cursor: String!
  "The row."
  node: ${row}!
}
`;
