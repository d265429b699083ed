// The ways in which a statement is changed, each by the smallest slip that a person might make.
import { conjuncts } from './conjuncts.ts';
import { endOfClause, split, type Token, tokensOf } from './tokens.ts';

/** `text` with `replacement` from `start` to `end`. */
export type Edit = { start: number; end: number; replacement: string };
export type Mutation = { operator: string; edit: Edit };
type Operator = (tokens: readonly Token[], sql: string) => Edit[];

const EDGES: Record<string, string> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const TAIL = new Set('LIMIT OFFSET FOR RETURNING UNION ON WHERE GROUP ORDER ROWS RANGE'.split(' '));

const edit = (from: Token | undefined, to: Token | undefined, replacement: string): Edit[] =>
  from === undefined || to === undefined ? [] : [{ start: from.start, end: to.end, replacement }];

const replaceWords =
  (words: readonly string[], replacement: string): Operator =>
  (tokens) =>
    tokens.flatMap((token, index) =>
      words.every((word, offset) => tokens[index + offset]?.word === word)
        ? edit(token, tokens[index + words.length - 1], replacement)
        : [],
    );

const comparisonEdge: Operator = (tokens) =>
  tokens.flatMap((token) => edit(token, token, EDGES[token.text] ?? '').filter(() => token.text in EDGES));

const rowLock: Operator = (tokens) =>
  tokens.flatMap((token, index) => {
    if (token.word !== 'FOR') return [];
    const end = endOfClause(tokens, index + 1, new Set(['LIMIT', 'RETURNING']));
    const words = tokens.slice(index + 1, end).map(({ word }) => word);
    return words.some((word) => word === 'UPDATE' || word === 'SHARE')
      ? edit(token, tokens[end - 1], '')
      : [];
  });

/** A conflict that was passed over fails; one that was written over is passed over. */
const onConflict: Operator = (tokens, sql) =>
  tokens.flatMap((token, index) => {
    if (token.word !== 'ON' || tokens[index + 1]?.word !== 'CONFLICT') return [];
    const end = endOfClause(tokens, index + 1, new Set(['RETURNING']));
    const last = tokens[end - 1];
    if (tokens.slice(index, end).some(({ word }) => word === 'NOTHING')) return edit(token, last, '');
    const where = tokens.findIndex(
      (other, at) => at > index && at < end && other.word === 'WHERE' && other.depth === token.depth,
    );
    const first = tokens[where + 1];
    if (where === -1 || first === undefined || last === undefined)
      return edit(last, last, `${last?.text} WHERE false`);
    return edit(first, last, `(${sql.slice(first.start, last.end)}) AND false`);
  });

const orderBys = (tokens: readonly Token[]) =>
  tokens.flatMap((token, index) => {
    if (token.word !== 'ORDER' || tokens[index + 1]?.word !== 'BY') return [];
    const end = endOfClause(tokens, index + 2, TAIL);
    return [{ index, keys: split(tokens, [index + 2, end], ',') }];
  });

const lastKey: Operator = (tokens) =>
  orderBys(tokens).flatMap(({ index, keys }) => {
    const last = keys.at(-1);
    if (last === undefined) return [];
    // With the comma before it, or with ORDER BY where it is the only one.
    return edit(tokens[keys.length === 1 ? index : last[0] - 1], tokens[last[1] - 1], '');
  });

const direction: Operator = (tokens, sql) =>
  orderBys(tokens).flatMap(({ keys }) =>
    keys.flatMap(([from, to]) => {
      const [first, last] = [tokens[from], tokens[to - 1]];
      const key = sql.slice(first?.start, last?.end);
      return edit(first, last, /\bDESC$/i.test(key) ? key.replace(/DESC$/i, 'ASC') : `${key} DESC`);
    }),
  );

const joinWidth: Operator = (tokens) =>
  tokens.flatMap((token, index) => {
    if (token.word !== 'JOIN') return [];
    const before = tokens[index - 1];
    if (before?.word === 'LEFT') return edit(before, token, 'JOIN');
    return before?.word === 'CROSS' ? [] : edit(token, token, 'LEFT JOIN');
  });

/** CROSS JOIN LATERAL (...) alias: a row that finds nothing stays, with nulls. */
const crossJoinWidth: Operator = (tokens, sql) =>
  tokens.flatMap((token, index) => {
    if (token.word !== 'CROSS' || tokens[index + 1]?.word !== 'JOIN') return [];
    const close = tokens.findIndex(
      (other, at) => at > index + 3 && other.text === ')' && other.depth === token.depth,
    );
    const [join, alias] = [tokens[index + 1], tokens[close + 1]];
    if (close === -1 || join === undefined || alias === undefined) return [];
    return edit(token, alias, `LEFT ${sql.slice(join.start, alias.end)} ON true`);
  });

/** The limit stays in the text, so that its parameter keeps its type. */
const limit =
  (addend: string): Operator =>
  (tokens, sql) =>
    tokens.flatMap((token, index) => {
      const [first, last] = [tokens[index + 1], tokens[endOfClause(tokens, index + 1, TAIL) - 1]];
      if (token.word !== 'LIMIT' || first === undefined || last === undefined) return [];
      return edit(first, last, `(${sql.slice(first.start, last.end)})::bigint + ${addend}`);
    });

/** SET column = value: the column keeps what it had, and the value its type. */
const assignment: Operator = (tokens, sql) =>
  tokens.flatMap((token, index) => {
    const table = token.word === 'SET' ? targetOf(tokens, index) : undefined;
    if (table === undefined) return [];
    const end = endOfClause(tokens, index + 1, new Set(['FROM', 'WHERE', 'RETURNING']));
    return split(tokens, [index + 1, end], ',').flatMap(([from, to]) => {
      const [column, equals, first, last] = [
        tokens[from],
        tokens[from + 1],
        tokens[from + 2],
        tokens[to - 1],
      ];
      if (equals?.text !== '=' || column === undefined || first === undefined || last === undefined)
        return [];
      const value = sql.slice(first.start, last.end);
      return edit(
        column,
        last,
        `${column.text} = CASE WHEN true THEN ${table}.${column.text} ELSE ${value} END`,
      );
    });
  });

/** The name by which the row that SET changes is known. */
function targetOf(tokens: readonly Token[], set: number): string | undefined {
  const before = tokens[set - 1];
  // ON CONFLICT ... DO UPDATE SET: the alias stands after INTO.
  if (before?.word === 'UPDATE') {
    const into = tokens.findLastIndex(({ word }, index) => index < set && word === 'INTO');
    const as = tokens.findIndex(({ word }, index) => index > into && word === 'AS');
    return into !== -1 && as === into + 4 ? tokens[as + 1]?.text : tokens[into + 3]?.text;
  }
  return before !== undefined && /^\w+$/.test(before.text) && before.word !== 'LOCAL'
    ? before.text
    : undefined;
}

const OPERATORS: Record<string, Operator> = {
  'comparison edge': comparisonEdge,
  'conjunct dropped': conjuncts,
  'lock dropped': rowLock,
  'SKIP LOCKED dropped': replaceWords(['SKIP', 'LOCKED'], ''),
  'NOWAIT dropped': replaceWords(['NOWAIT'], ''),
  'ON CONFLICT turned': onConflict,
  'last sort key dropped': lastKey,
  'sort direction turned': direction,
  'join widened': (tokens, sql) => [...joinWidth(tokens, sql), ...crossJoinWidth(tokens, sql)],
  'LIMIT dropped': limit('NULL'),
  'LIMIT one more': limit('1'),
  'assignment dropped': assignment,
};

export function mutationsOf(sql: string): Mutation[] {
  const tokens = tokensOf(sql);
  return Object.entries(OPERATORS).flatMap(([operator, find]) =>
    find(tokens, sql).map((found) => ({ operator, edit: found })),
  );
}

export const apply = (sql: string, { start, end, replacement }: Edit) =>
  sql.slice(0, start) + replacement + sql.slice(end);
