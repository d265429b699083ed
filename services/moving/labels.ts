// Decks and tags as labels.
import { codePointLength, graphemesOf, withinCodePoints } from '../platform/text.ts';

const MAX_LABELS = 20;
const MAX_LENGTH = 60;

/**
 * Labels of paths such as ["Spanish", "Verbs"]: "Spanish/Verbs", without repetition. A path of over 60 characters keeps its end,
 * which tells it from others. `dropped`: how many of over 20 there are.
 */
export function toLabels(paths: readonly (readonly string[])[]): { labels: string[]; dropped: number } {
  const labels = new Set(paths.map(toLabel).filter((label) => label !== ''));
  const kept = [...labels].slice(0, MAX_LABELS);
  return { labels: kept, dropped: labels.size - kept.length };
}

function toLabel(path: readonly string[]): string {
  const parts = path.map((part) =>
    part
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .replace(/ *\/ */g, '∕')
      .trim(),
  );
  const label = parts
    .filter((part) => part !== '')
    .join('/')
    .toWellFormed()
    .normalize('NFC');
  if (codePointLength(label) <= MAX_LENGTH) return label;
  const graphemes = graphemesOf(label).toReversed();
  const end = withinCodePoints(graphemes, MAX_LENGTH - 1)
    .toReversed()
    .join('');
  return `…${end.replace(/^[/ ]+/, '')}`;
}
