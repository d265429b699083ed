// What the statements that tests send can be mutated into, each change of the source once.
import { apply, mutationsOf } from './operators.ts';
import type { Place, Sources } from './sources.ts';

/** What one test file sent. */
export type Sent = { file: string; statements: string[] };
/** By the statement's text, what is sent in its place. */
export type Replacements = Record<string, string>;
export type SqlMutant = Place & {
  operator: string;
  /** What stands there, and what stands there instead. */
  before: string;
  after: string;
  /** The statement, and its variants: those that the same line of source is part of. */
  replacements: Replacements;
  /** Files that send any of them. */
  testFiles: string[];
};

const oneLine = (sql: string) => sql.replaceAll(/\s+/g, ' ').trim();
/** Statements that the code generates differ in the numbers of their parameters, and in literal figures. */
const withoutNumbers = (sql: string) => sql.replaceAll(/\$?\d+/g, '0');

/** Longer texts differ in what the code has put into them. */
const SAME_BEGINNING = 40;

/** In the order of the sources. */
export function mutantsOf(sent: readonly Sent[], sources: Sources): SqlMutant[] {
  const filesOf = new Map<string, string[]>();
  for (const { file, statements } of sent)
    for (const text of statements) filesOf.set(text, [...(filesOf.get(text) ?? []), file]);
  const mutants = new Map<string, SqlMutant>();
  for (const [text, testFiles] of filesOf) {
    if (!sources.has(text)) continue;
    const timesSeen = new Map<string, number>();
    for (const { operator, edit } of mutationsOf(text)) {
      const place = sources.placeOf(text, edit.start);
      const before = oneLine(text.slice(edit.start, edit.end));
      const kind = `${place.file}:${place.line}:${operator}:${withoutNumbers(before).slice(0, SAME_BEGINNING)}`;
      const times = (timesSeen.get(kind) ?? 0) + 1;
      timesSeen.set(kind, times);
      const key = `${kind} ${times}`;
      const mutant = mutants.get(key) ?? {
        ...place,
        operator,
        before,
        after: oneLine(edit.replacement),
        replacements: {},
        testFiles: [],
      };
      mutant.replacements[text] = apply(text, edit);
      mutant.testFiles = [...new Set([...mutant.testFiles, ...testFiles])];
      mutants.set(key, mutant);
    }
  }
  return [...mutants.values()].toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
}
