// SQL cut into tokens with their places, so that an operator changes syntax and never a string or a comment.

export type Token = {
  text: string;
  /** The text in capitals: keywords compare equal however they are written. */
  word: string;
  start: number;
  end: number;
  /** How many parentheses are open around it; a parenthesis counts as being outside of itself. */
  depth: number;
};

const TOKEN =
  /\s+|--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\d+|[A-Za-z_]\w*|\d+(?:\.\d+)?|::|<=|>=|<>|!=|\|\||->>|->|[^\s]/g;

/** Without white space and comments. */
export function tokensOf(sql: string): Token[] {
  const tokens: Token[] = [];
  let depth = 0;
  for (const { 0: text, index: start } of sql.matchAll(TOKEN)) {
    if (/^(?:\s|--|\/\*)/.test(text)) continue;
    if (text === ')' || text === ']') depth -= 1;
    tokens.push({ text, word: text.toUpperCase(), start, end: start + text.length, depth });
    if (text === '(' || text === '[') depth += 1;
  }
  return tokens;
}

/**
 * Where a clause that begins at token `from` ends: before the next token of its depth that is one of `words`, before the
 * parenthesis that closes around it, or at the end.
 */
export function endOfClause(tokens: readonly Token[], from: number, words: ReadonlySet<string>): number {
  const depth = tokens[from]?.depth ?? 0;
  const end = tokens.findIndex(
    (token, index) =>
      index >= from && (token.depth < depth || (token.depth === depth && words.has(token.word))),
  );
  return end === -1 ? tokens.length : end;
}

/** The spans of tokens between `from` and `to` that separators of their depth divide. */
export function split(
  tokens: readonly Token[],
  [from, to]: readonly [number, number],
  separator: string,
): [number, number][] {
  const depth = tokens[from]?.depth ?? 0;
  const spans: [number, number][] = [];
  let begin = from;
  let isBetween = false;
  for (let index = from; index < to; index++) {
    const token = tokens[index];
    if (token === undefined || token.depth !== depth) continue;
    if (token.word === 'BETWEEN') isBetween = true;
    if (token.word !== separator) continue;
    if (separator === 'AND' && isBetween) {
      isBetween = false;
      continue;
    }
    spans.push([begin, index]);
    begin = index + 1;
  }
  spans.push([begin, to]);
  return spans;
}
