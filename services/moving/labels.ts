// Decks and tags as labels.
import { MAX_LABEL_CODE_POINTS, MAX_LABELS, SHOWS_NOTHING } from '../platform/labels.ts';
import { codePointLength, graphemesOf, withinCodePoints } from '../platform/text.ts';
import type { Note } from './findings.ts';

/**
 * Labels of paths such as ["Spanish", "Verbs"]: "Spanish/Verbs", without repetition. A path of over 60 characters keeps its end,
 * which tells it from others. Of over 20 the first are kept, which is noted.
 */
export function toLabels(paths: readonly (readonly string[])[], note: Note): string[] {
  const labels = new Set(paths.map(toLabel).filter((label) => label !== ''));
  if (labels.size > MAX_LABELS) note(`more than ${MAX_LABELS} labels: the first ${MAX_LABELS} are kept`);
  return [...labels].slice(0, MAX_LABELS);
}

function toLabel(path: readonly string[]): string {
  const parts = path.map((part) =>
    part
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .replace(/ *\/ */g, '∕')
      .trim(),
  );
  const label = parts
    .filter((part) => !SHOWS_NOTHING.test(part))
    .join('/')
    .toWellFormed()
    .normalize('NFC');
  if (codePointLength(label) <= MAX_LABEL_CODE_POINTS) return label;
  const graphemes = graphemesOf(label).toReversed();
  const end = withinCodePoints(graphemes, MAX_LABEL_CODE_POINTS - 1)
    .toReversed()
    .join('');
  return `…${end.replace(/^[/ ]+/, '')}`;
}
