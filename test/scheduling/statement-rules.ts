// What a statement and a schema must keep to, so that the rows of one user can lie on a node of their own.

/** FROM, JOIN, UPDATE or INTO, a table of ours, and its alias where it has one. */
const REFERENCE =
  /\b(FROM|JOIN|UPDATE|INTO) scheduling\.(\w+)(?: (?:AS )?(?!(?:SET|WHERE|VALUES|ON|ORDER|CROSS|JOIN|LIMIT|RETURNING|SELECT)\b)(\w+))?/g;
const BINDING = /(?:\b(\w+)\.)?\buser_id = (?:\$\d+|(\w+)\.user_id)/g;
/** Looks bound, but is no condition of its own, and only such a one tells which node has the rows. */
const WRAPPED =
  /\((?:[^()]|\([^()]*\))*\buser_id = \$\d+(?:[^()]|\([^()]*\))*\) IS (?:NOT )?(?:TRUE|FALSE|NULL)\b/;
const INSERT = /INTO scheduling\.\w+(?: AS \w+)? \(user_id, [^)]*\) (?:VALUES \(|SELECT )\$\d+\b/g;

/** One line, without texts in quotes: what they say is no SQL. */
export const flatten = (sql: string) =>
  sql
    .replace(/\s+/g, ' ')
    .replace(/'[^']*'/g, "''")
    .trim();

/**
 * Tables of a statement that are not held to one user by `user_id = $n`, directly or by being equal to what is.
 * `alsoBound`: aliases that count as held.
 */
export function unboundTables(sql: string, alsoBound: readonly string[] = []): string[] {
  const text = flatten(sql);
  const references = [...text.matchAll(REFERENCE)].map(([, kind, table = '', alias]) => ({
    kind,
    table,
    alias,
  }));
  const written = references.filter(({ kind }) => kind === 'INTO');
  const read = references.filter(({ kind }) => kind !== 'INTO');
  const bound = boundAliases(text, alsoBound);
  const unaliasedBindings = [...text.matchAll(BINDING)].filter(([, left, right]) => !left && !right).length;
  const unaliased = read.filter(({ alias }) => alias === undefined);
  const problems = read
    .filter(({ alias }) => alias !== undefined && !bound.has(alias))
    .map(({ table }) => table);
  problems.push(...unaliased.slice(unaliasedBindings).map(({ table }) => table));
  problems.push(...written.slice([...text.matchAll(INSERT)].length).map(({ table }) => table));
  if (/\bOR (?:\w+\.)?user_id\b/.test(text)) problems.push('user_id in an OR');
  if (WRAPPED.test(text)) problems.push('user_id within an expression');
  for (const [, name = '', first] of text.matchAll(/\bscheduling\.(\w+)\((\$\d+|\w+\.user_id)?/g))
    if (first === undefined) problems.push(name);
  return problems;
}

function boundAliases(text: string, alsoBound: readonly string[]): Set<string> {
  const bound = new Set(alsoBound);
  const pairs: [string, string][] = [];
  for (const [, left, right] of text.matchAll(BINDING)) {
    if (left !== undefined && right === undefined) bound.add(left);
    if (left !== undefined && right !== undefined) pairs.push([left, right]);
  }
  for (let before = -1; before !== bound.size; ) {
    before = bound.size;
    for (const [one, other] of pairs) {
      if (bound.has(one)) bound.add(other);
      else if (bound.has(other)) bound.add(one);
    }
  }
  return bound;
}

/** What a statement that writes calls by name, lower case; and the keywords that stand for the clock or the session. */
export function namesCalledByWrite(sql: string): string[] {
  const text = flatten(sql);
  if (!/\b(INSERT|UPDATE|DELETE)\b/.test(text.replace(/\bFOR UPDATE\b/g, ''))) return [];
  const called = [...text.matchAll(/\b([a-z_]\w*)\s?\(/gi)].map(([, name = '']) => name.toLowerCase());
  const keywords = [...text.matchAll(/\b(CURRENT_\w+|LOCALTIME\w*)\b/gi)].map(([, name = '']) =>
    name.toLowerCase(),
  );
  return [...called, ...keywords];
}

/** Each row names something of the schema that Citus refuses or that would leave a user's rows; none is right. */
export const SCHEMA_PROBLEMS: Readonly<Record<string, string>> = {
  trigger: `SELECT tgname::text AS name FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = 'scheduling'::regnamespace AND NOT t.tgisinternal`,
  'table without a primary key': `SELECT c.relname::text AS name FROM pg_class c
    WHERE c.relnamespace = 'scheduling'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> 'schema_migrations'
      AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)`,
  'unique without user_id first': `SELECT i.indexrelid::regclass::text AS name
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
    LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
    WHERE c.relnamespace = 'scheduling'::regnamespace AND c.relname <> 'schema_migrations'
      AND i.indisunique AND a.attname IS DISTINCT FROM 'user_id' AND c.relname NOT IN ('overview', 'learner_count', 'prediction_round')`,
  exclusion: `SELECT conname::text AS name FROM pg_constraint
    WHERE connamespace = 'scheduling'::regnamespace AND contype = 'x'`,
  'foreign key that leaves the user': `SELECT k.conname::text AS name FROM pg_constraint k
    LEFT JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
    LEFT JOIN pg_attribute f ON f.attrelid = k.confrelid AND f.attnum = k.confkey[1]
    JOIN pg_class target ON target.oid = k.confrelid
    WHERE k.connamespace = 'scheduling'::regnamespace AND k.contype = 'f'
      AND (a.attname <> 'user_id' OR f.attname <> 'user_id' OR target.relnamespace <> k.connamespace)`,
  'ON DELETE SET NULL or SET DEFAULT': `SELECT conname::text AS name FROM pg_constraint
    WHERE connamespace = 'scheduling'::regnamespace AND contype = 'f'
      AND (confdeltype IN ('n', 'd') OR confupdtype IN ('n', 'd'))`,
  'default that is not constant': `SELECT d.adrelid::regclass || ' ' || a.attname AS name
    FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid
    JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
    WHERE c.relnamespace = 'scheduling'::regnamespace AND c.relname <> 'schema_migrations'
      AND pg_get_expr(d.adbin, d.adrelid) ~ '\\('`,
};
