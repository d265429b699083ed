// What became of each mutant, and what a room's score is.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export type MutantResult = {
  file: string;
  line: number;
  operator: string;
  /** What stands there, and what stood there instead, each on one line. */
  before: string;
  after: string;
  /** `invalid`: it cannot run. `ignored`: a comment in the source says so. Neither counts. */
  status: 'killed' | 'survived' | 'invalid' | 'ignored';
};

/** A mutant that changes nothing that anybody could see. It is told by its text, so that it may move. */
export type Equivalent = Pick<MutantResult, 'file' | 'operator' | 'before' | 'after'> & { reason: string };

export type Score = { killed: number; counted: number; equivalent: number; survivors: MutantResult[] };

export function readEquivalents(): Equivalent[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'equivalents.json'), 'utf8')) as Equivalent[];
}

export function scoreOf(results: readonly MutantResult[], equivalents: readonly Equivalent[]): Score {
  const survived = results.filter(({ status }) => status === 'survived');
  const survivors = survived.filter(
    (result) => !equivalents.some((equivalent) => isSame(result, equivalent)),
  );
  const killed = results.filter(({ status }) => status === 'killed').length;
  return {
    killed,
    counted: killed + survivors.length,
    equivalent: survived.length - survivors.length,
    survivors,
  };
}

function isSame(result: MutantResult, equivalent: Equivalent): boolean {
  return (['file', 'operator', 'before', 'after'] as const).every(
    (name) => result[name] === equivalent[name],
  );
}

/** In percent; a room without mutants has lost nothing. */
export const percentOf = ({ killed, counted }: Score): number =>
  counted === 0 ? 100 : (100 * killed) / counted;

const SHOWN = 110;
const cut = (text: string) => (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);

export function survivorLine({ file, line, operator, before, after }: MutantResult): string {
  return `${file}:${line}  ${operator}: ${cut(before)} → ${cut(after) || '(nothing)'}`;
}
