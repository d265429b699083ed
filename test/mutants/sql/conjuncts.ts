// The conditions that AND joins in WHERE, ON, HAVING and FILTER, each to be dropped.
import type { Edit } from './operators.ts';
import { endOfClause, split, type Token } from './tokens.ts';

const CLAUSE_ENDS = new Set(
  'WHERE GROUP HAVING ORDER LIMIT FOR RETURNING UNION WINDOW JOIN LEFT CROSS INNER ON , SET FROM ;'.split(
    ' ',
  ),
);

/** A condition stays in the text beside OR true, so that its parameters keep their types. */
export function conjuncts(tokens: readonly Token[], sql: string): Edit[] {
  return tokens.flatMap((token, index) => {
    const isOn = token.word === 'ON' && tokens[index + 1]?.word !== 'CONFLICT';
    if (token.word !== 'WHERE' && token.word !== 'HAVING' && !isOn) return [];
    return within(tokens, [index + 1, endOfClause(tokens, index + 1, CLAUSE_ENDS)]).map(([from, to]) => {
      const [start, end] = [tokens[from]?.start ?? 0, tokens[to - 1]?.end ?? 0];
      return { start, end, replacement: `((${sql.slice(start, end)}) OR true)` };
    });
  });
}

function within(tokens: readonly Token[], span: readonly [number, number]): [number, number][] {
  // AND binds more tightly than OR: a condition with OR is dropped as a whole.
  const spans =
    split(tokens, span, 'OR').length > 1 ? [[...span] as [number, number]] : split(tokens, span, 'AND');
  return spans.flatMap((conjunct) => [conjunct, ...inParentheses(tokens, conjunct)]);
}

/** The conditions of a conjunct that is itself a group of several in parentheses. */
function inParentheses(tokens: readonly Token[], [from, to]: readonly [number, number]): [number, number][] {
  const [open, close] = [tokens[from], tokens[to - 1]];
  if (open?.text !== '(' || close?.text !== ')' || tokens[from + 1]?.word === 'SELECT') return [];
  const closing = tokens.findIndex(
    (token, index) => index > from && token.text === ')' && token.depth === open.depth,
  );
  if (closing !== to - 1) return [];
  const inner: [number, number] = [from + 1, to - 1];
  return split(tokens, inner, 'AND').length > 1 && split(tokens, inner, 'OR').length === 1
    ? within(tokens, inner)
    : [];
}
