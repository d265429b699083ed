// Words that the channels share, and text of users made harmless for a line of a message.

/** Controls (line breaks among them), marks that change the direction of text, and line and paragraph separators. */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/gu;

/** One line of at most `maxCodePoints` without control characters; a longer text ends in an ellipsis. */
export function toLine(text: string, maxCodePoints: number): string {
  const line = text.toWellFormed().replace(UNSAFE, ' ').replace(/ {2,}/g, ' ').trim();
  const codePoints = Array.from(line);
  return codePoints.length <= maxCodePoints ? line : `${codePoints.slice(0, maxCodePoints - 1).join('')}…`;
}

/** The number at which counting ends (BatchGetDueCounts): it stands for this many or more. */
const MAX_COUNTED = 1000;

/** Such as "1 material is due" or "1,000 or more materials are due". */
export function dueSentence(dueCount: number): string {
  if (dueCount === 0) return 'No materials are due';
  if (dueCount === 1) return '1 material is due';
  const count = dueCount < MAX_COUNTED ? `${dueCount}` : '1,000 or more';
  return `${count} materials are due`;
}
