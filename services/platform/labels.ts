// Labels, as several services take them. A slash makes levels: Spanish/Verbs lies below Spanish.
import { invalidField } from './errors.ts';

export const MAX_LABELS = 20;
export const MAX_LABEL_CODE_POINTS = 60;

/** Only spaces, invisible characters and blank Braille patterns: a link with such a text could not be seen or clicked. */
export const SHOWS_NOTHING = /^[\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** The label in NFC; undefined where the text is none: empty, too long, with a control character or a blank part between slashes. */
export function toLabel(text: string): string | undefined {
  if (!text.isWellFormed()) return undefined;
  const label = text.normalize('NFC');
  const isLabel =
    [...label].length <= MAX_LABEL_CODE_POINTS &&
    !/\p{Cc}/u.test(label) &&
    label.split('/').every((part) => !SHOWS_NOTHING.test(part));
  return isLabel ? label : undefined;
}

/** Distinct ones, in order; null where there are none. @throws INVALID_REQUEST with the field. */
export function readLabels(field: string, texts: readonly string[]): string[] | null {
  const labels = new Set(texts.map((text) => requireLabel(field, text)));
  if (labels.size > MAX_LABELS) throw invalidField(field, `must be at most ${MAX_LABELS}.`);
  return labels.size === 0 ? null : [...labels];
}

function requireLabel(field: string, text: string): string {
  const label = toLabel(text);
  if (label !== undefined) return label;
  throw invalidField(
    field,
    `must each have 1 to ${MAX_LABEL_CODE_POINTS} characters, none a control character, and no blank part between slashes.`,
  );
}
