// Cloze deletions: {{c1::answer::hint}}, nested, and image occlusions, as a card of one number shows them.

/** Deeper ones stay as text. */
const MAX_DEPTH = 10;
const DELETION = /\{\{c([\d,]{1,60})::|\}\}/g;

type Deletion = { numbers: readonly number[]; parts: Part[]; hint: string | undefined };
type Part = string | Deletion;

type ClozeView = { number: number; side: 'question' | 'answer' };

/** A field as the card of `number` (from 1) shows it: `[...]` or `[hint]` for its deletions on the question side. Empty if it has none. */
export function showCloze(field: string, view: ClozeView): string {
  const parts = parse(field);
  return hasNumber(parts, view.number) ? parts.map((part) => shown(part, view)).join('') : '';
}

/** A field with none of its deletions hidden. */
export function showWhole(field: string): string {
  return parse(field)
    .map((part) => shown(part, { number: NO_CARD, side: 'answer' }))
    .join('');
}

const NO_CARD = -1;

/** Only what the card of `number` hides, such as "Paris, London"; on the question side its hints. */
export function showClozeOnly(field: string, { number, side }: ClozeView): string {
  return deletionsOf(field, number)
    .map((deletion) => (side === 'question' ? (deletion.hint ?? '...') : plain(deletion)))
    .join(', ');
}

/** What the card of `number` asks the learner to type: its deletions, or one of them if they are all equal. */
export function clozeToType(field: string, number: number): string {
  const texts = deletionsOf(field, number).map(plain);
  return texts.every((text) => text === texts[0]) ? (texts[0] ?? '') : texts.join(', ');
}

/** The numbers of the cards that a field makes, in order. Anki makes none of higher ones. */
export function clozeNumbers(field: string): number[] {
  const numbers = new Set(deletions(parse(field)).flatMap((deletion) => deletion.numbers));
  return [...numbers].filter((number) => number >= 1 && number < 500).sort((a, b) => a - b);
}

function parse(field: string): Part[] {
  const root: Part[] = [];
  const open: Deletion[] = [];
  const add = (part: Part) => (open.at(-1)?.parts ?? root).push(part);
  let from = 0;
  for (const found of field.matchAll(DELETION)) {
    const numbers = (found[1] ?? '').split(',').filter(Boolean).map(Number);
    const isEnd = found[1] === undefined;
    if (isEnd ? open.length === 0 : numbers.length === 0 || open.length >= MAX_DEPTH) continue;
    addText(field.slice(from, found.index), open.at(-1), add);
    from = found.index + found[0].length;
    if (!isEnd) {
      open.push({ numbers, parts: [], hint: undefined });
      continue;
    }
    const closed = open.pop();
    if (closed !== undefined) add(closed);
  }
  addText(field.slice(from), open.at(-1), add);
  // One that is never closed counts to the end.
  for (let left = open.pop(); left !== undefined; left = open.pop()) add(left);
  return root;
}

/** In a deletion, what follows "::" is its hint. */
function addText(text: string, deletion: Deletion | undefined, add: (part: Part) => void): void {
  if (text === '') return;
  const colons = deletion === undefined || text.startsWith(OCCLUSION) ? -1 : text.indexOf('::');
  if (deletion !== undefined && colons >= 0) deletion.hint = text.slice(colons + 2);
  const shownText = colons < 0 ? text : text.slice(0, colons);
  if (shownText !== '') add(shownText);
}

/** Begins the deletion of an area of an image; its shape follows, which text cannot show. */
const OCCLUSION = 'image-occlusion:';

function shown(part: Part, view: ClozeView): string {
  if (typeof part === 'string') return part;
  const isActive = part.numbers.includes(view.number);
  const [first] = part.parts;
  if (typeof first === 'string' && first.startsWith(OCCLUSION))
    return isActive ? `[area ${view.number}]` : '';
  if (isActive && view.side === 'question') return `[${part.hint ?? '...'}]`;
  return part.parts.map((inner) => shown(inner, view)).join('');
}

function plain({ parts }: Deletion): string {
  return parts.map((part) => (typeof part === 'string' ? part : plain(part))).join('');
}

function deletions(parts: readonly Part[]): Deletion[] {
  return parts.flatMap((part) => (typeof part === 'string' ? [] : [part, ...deletions(part.parts)]));
}

const deletionsOf = (field: string, number: number) =>
  deletions(parse(field)).filter(({ numbers }) => numbers.includes(number));

const hasNumber = (parts: readonly Part[], number: number): boolean =>
  deletions(parts).some(({ numbers }) => numbers.includes(number));
