// Finds the line of source that a place in a sent statement comes from, though templates joined it from several.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export type Place = { file: string; line: number };
export type Sources = {
  /** Whether a statement comes from these sources, and not from a test. */
  has(statement: string): boolean;
  placeOf(statement: string, offset: number): Place;
};

const MIN_COMMON = 12;

export function readSources(root: string, patterns: readonly string[]): Sources {
  const files = globSync([...patterns], { cwd: root }).toSorted();
  const sources = files.map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
  const homes = new Map<string, Source | undefined>();
  /** The file that a statement was put together in: the one with most of its lines. */
  const homeOf = (statement: string) => {
    if (!homes.has(statement)) homes.set(statement, home(sources, statement));
    return homes.get(statement);
  };
  return {
    has: (statement) => homeOf(statement) !== undefined,
    placeOf(statement, offset) {
      const places = sources.map((source) => {
        const common = longestCommon(source.text, statement, offset);
        return {
          source,
          ...common,
          weight: common.length * nearness(source, homeOf(statement), common.length),
        };
      });
      const [best] = places.toSorted((a, b) => b.weight - a.weight);
      if (best === undefined) throw new Error('there are no sources');
      return { file: best.source.file, line: best.source.text.slice(0, best.index).split('\n').length };
    },
  };
}

type Source = { file: string; text: string };

function home(sources: readonly Source[], statement: string): Source | undefined {
  const begin = statement.slice(0, statement.search(/\S/) + 2 * MIN_COMMON);
  const ranked = sources
    .map((source) => ({ source, lines: linesIn(source, statement) + (source.text.includes(begin) ? 1 : 0) }))
    .toSorted((a, b) => b.lines - a.lines);
  return ranked[0] !== undefined && ranked[0].lines > 0 ? ranked[0].source : undefined;
}

/** Many files hold the same conditions: what the statement's own file holds is from there, else rather from beside it. */
function nearness({ file }: Source, statementHome: Source | undefined, commonLength: number): number {
  if (statementHome === undefined) return 1;
  if (file === statementHome.file) return commonLength >= MIN_COMMON ? 1000 : 1;
  return dirname(file) === dirname(statementHome.file) ? 2 : 1;
}

/** How many lines of the statement stand in the source as they are. */
function linesIn({ text }: Source, statement: string): number {
  const lines = statement.split('\n').filter((line) => line.trim().length >= MIN_COMMON);
  return lines.filter((line) => text.includes(line)).length;
}

/** The longest part of the statement around `offset` that stands in `text`: its length, and where `offset` is in it. */
function longestCommon(text: string, statement: string, offset: number): { length: number; index: number } {
  let [start, end] = [offset, offset];
  while (end < statement.length && text.includes(statement.slice(start, end + 1))) end += 1;
  while (start > 0 && text.includes(statement.slice(start - 1, end))) start -= 1;
  return { length: end - start, index: text.indexOf(statement.slice(start, end)) + offset - start };
}
