// Anki's card templates: parsed once, rendered for each card, within bounds.
import { htmlToText } from '../text/html-text.ts';
import { clozeToType, showCloze, showClozeOnly } from './cloze.ts';

type Node =
  | { kind: 'text'; text: string }
  | { kind: 'field'; name: string; filters: readonly string[] }
  | { kind: 'section'; name: string; isNegated: boolean; end: number };

/** Nodes in the order of the text; a section holds the index behind its last node. */
export type Template = readonly Node[];

/** What a template is rendered with. `fields`: HTML by name. */
export type Rendering = {
  fields: ReadonlyMap<string, string>;
  side: 'question' | 'answer';
  /** Of the card, from 1. */
  clozeNumber: number;
  /** The rendered question, for {{FrontSide}}. */
  frontSide: string;
  /** Whether text behind a "show hint" link is there. */
  showsHints: boolean;
  /** Whether text that Anki only speaks is there. */
  showsSpeech: boolean;
};

/** Sections within sections; deeper ones are not opened. */
const MAX_DEPTH = 100;
/** Of a field; the others are not applied. */
const MAX_FILTERS = 20;
const [COMMENT_START, COMMENT_END] = ['<!--', '-->'];
const NEW_DELIMITERS = /^=\s*(\S+)\s+(\S+)\s*=$/;

/**
 * Reads a template with {{Field}}, {{filter:Field}}, {{#Field}}, {{^Field}}, {{/Field}} and changed delimiters. A comment of HTML is
 * text, whatever it holds. Lenient, as old collections have broken ones: a section without its end goes to the end of the text, an
 * end without its section is ignored.
 */
export function parseTemplate(source: string): Template {
  const nodes: Node[] = [];
  const open: { name: string; at: number }[] = [];
  const closeTo = (depth: number) => {
    for (const { at } of open.splice(depth)) {
      const section = nodes[at];
      if (section?.kind === 'section') section.end = nodes.length;
    }
  };
  let [start, end] = ['{{', '}}'];
  let at = 0;
  let comment = source.indexOf(COMMENT_START);
  for (;;) {
    let from = source.indexOf(start, at);
    // The last tag can have contained the start of the comment.
    if (comment >= 0 && comment < at) comment = source.indexOf(COMMENT_START, at);
    while (comment >= 0 && comment < from) {
      const last = source.indexOf(COMMENT_END, comment + COMMENT_START.length);
      const behind = last + COMMENT_END.length;
      if (last >= 0 && behind > from) from = source.indexOf(start, behind);
      // Without an end it is text, and so is every later one.
      comment = last < 0 ? -1 : source.indexOf(COMMENT_START, behind);
    }
    const to = from < 0 ? -1 : source.indexOf(end, from + start.length);
    if (to < 0) break;
    if (from > at) nodes.push({ kind: 'text', text: source.slice(at, from) });
    const inner = source.slice(from + start.length, to);
    at = to + end.length;
    // The old form {{{Field}}}.
    if (inner.startsWith('{') && source.startsWith('}', at)) at += 1;
    const tag = inner.replace(/^\{+/, '').trim();
    const delimiters = NEW_DELIMITERS.exec(tag);
    if (delimiters !== null) {
      [start, end] = [delimiters[1] ?? start, delimiters[2] ?? end];
      continue;
    }
    const name = tag.slice(1).trim();
    if (tag.startsWith('#') || tag.startsWith('^')) {
      if (open.length >= MAX_DEPTH) continue;
      open.push({ name, at: nodes.length });
      nodes.push({ kind: 'section', name, isNegated: tag.startsWith('^'), end: 0 });
    } else if (tag.startsWith('/')) {
      const depth = open.findLastIndex((section) => section.name === name);
      if (depth >= 0) closeTo(depth);
    } else if (!tag.startsWith('!')) {
      const path = tag.split(':');
      const name = path.pop()?.trim() ?? '';
      nodes.push({ kind: 'field', name, filters: path.reverse().slice(0, MAX_FILTERS).map(trimmed) });
    }
  }
  if (at < source.length) nodes.push({ kind: 'text', text: source.slice(at) });
  closeTo(0);
  return nodes;
}

const trimmed = (text: string) => text.trim();

/** The HTML of one side, of at most `maxLength` UTF-16 units. A field that the note does not have is empty. */
export function renderTemplate(template: Template, rendering: Rendering, maxLength: number): string {
  const parts: string[] = [];
  let left = maxLength;
  for (let at = 0; at < template.length && left > 0; at += 1) {
    const node = template[at];
    if (node === undefined) break;
    if (node.kind === 'section') {
      if (isFilled(node.name, rendering) === node.isNegated) at = node.end - 1;
      continue;
    }
    const text = (node.kind === 'text' ? node.text : fieldValue(node, rendering)).slice(0, left);
    left -= text.length;
    parts.push(text);
  }
  return withoutSpeechTags(parts.join(''), rendering);
}

const SPEECH_END = '[/anki:tts]';

/** Fields can hold [anki:tts lang=de_DE]…[/anki:tts] as well as templates: it is looked for in the rendered side. */
function withoutSpeechTags(html: string, { showsSpeech }: Rendering): string {
  let shown = '';
  let at = 0;
  for (;;) {
    const from = html.indexOf('[anki:tts', at);
    const tagEnd = from < 0 ? -1 : html.indexOf(']', from);
    const to = tagEnd < 0 ? -1 : html.indexOf(SPEECH_END, tagEnd);
    if (to < 0) return shown + html.slice(at);
    shown += html.slice(at, from);
    if (showsSpeech) shown += html.slice(tagEnd + 1, to);
    at = to + SPEECH_END.length;
  }
}

/** Blanks and empty lines alone are nothing. */
const EMPTY = /^(?:\s|<\/?(?:br|div)\s?\/?>)*$/i;

function isFilled(name: string, { fields, clozeNumber }: Rendering): boolean {
  const value = fields.get(name);
  if (value === undefined) return name === `c${clozeNumber}`;
  return !EMPTY.test(value);
}

function fieldValue(
  { name, filters }: { name: string; filters: readonly string[] },
  rendering: Rendering,
): string {
  if (name === 'FrontSide') return rendering.frontSide;
  const value = rendering.fields.get(name) ?? '';
  return filters.reduce((text, filter) => filtered(filter, text, filters, rendering), value);
}

/** Furigana: "食[た]べる". A word without blanks, and its reading. */
const READING = / ?([^ >[\]]{1,200})\[([^[\]]{1,200})\]/g;
const isSound = (reading: string) => reading.startsWith('sound:');

function filtered(filter: string, text: string, all: readonly string[], rendering: Rendering): string {
  const view = { number: rendering.clozeNumber, side: rendering.side };
  switch (filter) {
    case 'cloze':
      // {{type:cloze:Field}} asks for what is hidden alone.
      return all.includes('type') ? clozeToType(text, view.number) : showCloze(text, view);
    case 'cloze-only':
      return showClozeOnly(text, view);
    case 'type':
      // A box to type the answer into; behind it, the right one.
      return rendering.side === 'question' ? '' : text;
    case 'hint':
      return rendering.showsHints ? text : '';
    case 'text':
      return escaped(htmlToText(text));
    case 'kanji':
      return readings(text, (word) => word);
    case 'kana':
      return readings(text, (_word, reading) => reading);
    case 'furigana':
      return readings(text, (word, reading) => `<ruby>${word}<rt>${reading}</rt></ruby>`);
    default:
      return filter.startsWith('tts ') && !rendering.showsSpeech ? '' : text;
  }
}

function readings(text: string, show: (word: string, reading: string) => string): string {
  return text
    .replaceAll('&nbsp;', ' ')
    .replace(READING, (whole, word: string, reading: string) =>
      isSound(reading) ? whole : show(word, reading),
    );
}

/** A plain text as HTML. */
export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\n', '<br>');
}
