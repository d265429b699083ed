// Splits an SQL text into its statements.

/** A comment, a quoted text or name, a dollar-quoted text, a semicolon, or anything else. */
const TOKEN = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|;|[^-/'"$;]+|[\s\S]/g;

/**
 * The statements of `sql`, without comments between them and without semicolons. Does not know nested comments, E'...' with
 * \\', and bodies between BEGIN ATOMIC and END.
 */
export function splitStatements(sql: string): string[] {
  const statements = [''];
  for (const [token] of sql.matchAll(TOKEN)) {
    if (token === ';') statements.push('');
    else if (!/^(--|\/\*)/.test(token)) statements.push(`${statements.pop()}${token}`);
  }
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '');
}
