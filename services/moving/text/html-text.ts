// HTML as plain text, in one pass: scripts and styles vanish, blocks become lines, images are named.
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2';
import { percentDecoded } from '../../platform/text.ts';

/** Their content is not for a reader. */
const HIDDEN = new Set(['script', 'style', 'template', 'svg']);
/** Blocks with an empty line around them; the others only begin a new line. */
const APART = ['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'table', 'ul', 'ol', 'dl', 'blockquote', 'pre'];
const TOGETHER = [
  'div',
  'li',
  'tr',
  'dt',
  'dd',
  'section',
  'article',
  'header',
  'footer',
  'main',
  'aside',
  'nav',
];
const OTHERS = ['center', 'figure', 'figcaption', 'form', 'fieldset', 'details', 'summary', 'caption'];
const LISTS = new Set(['ul', 'ol']);
/** Of lists within lists; deeper ones are indented no further. */
const MAX_INDENTS = 10;
/** How many line breaks each has around it. */
const BLOCKS = new Map([
  ...APART.map((name) => [name, 2] as const),
  ...[...TOGETHER, ...OTHERS].map((name) => [name, 1] as const),
]);
const MEDIA = new Map([
  ['img', 'image'],
  ['audio', 'sound'],
  ['video', 'video'],
  ['iframe', 'page'],
]);
/** They only change how letters look: a superscript goes on in them. */
const FORMATTING = new Set(['b', 'em', 'font', 'i', 'small', 'span', 'strong', 'u', 'var']);
const ATTRIBUTES = new Set(['src', 'alt', 'href', 'start']);
/** Of a name in brackets. A longer one is data, not a name. */
const MAX_NAME_LENGTH = 200;
const MAX_LINK_LENGTH = 2000;

const RAISED = translation('0123456789+-−()n', '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁽⁾ⁿ');
const LOWERED = translation('0123456789+-−()', '₀₁₂₃₄₅₆₇₈₉₊₋₋₍₎');

/**
 * The text that a reader of `html` sees. An image is `[image: NAME]`, an embedded page `[page: ADDRESS]`, a link has its address
 * behind it, digits above and below the line stay there (10⁵), other exponents and indices are marked (2^(1/2)), a reading stands in
 * brackets behind its characters. Anything is accepted as HTML, in linear time. At most `maxLength` UTF-16 units.
 */
export function htmlToText(html: string, { maxLength = Number.POSITIVE_INFINITY } = {}): string {
  if (!/[<&\s\u00a0]/.test(html)) return html.slice(0, maxLength);
  const page = createPage(createLines(maxLength));
  let tag = '';
  let attribute = '';
  let attributes: Record<string, string> = {};
  const add = (value: string) => {
    if (ATTRIBUTES.has(attribute)) attributes[attribute] = (attributes[attribute] ?? '') + value;
  };
  const callbacks: TokenizerCallbacks = {
    onopentagname(start, end) {
      tag = html.slice(start, end).toLowerCase();
      attributes = {};
    },
    onattribname(start, end) {
      attribute = html.slice(start, end).toLowerCase();
    },
    onattribdata: (start, end) => add(html.slice(start, Math.min(end, start + MAX_LINK_LENGTH + 1))),
    onattribentity: (codePoint) => add(String.fromCodePoint(codePoint)),
    onattribend() {},
    onopentagend: () => page.open(tag, attributes),
    onselfclosingtag() {
      page.open(tag, attributes);
      page.close(tag);
    },
    onclosetag: (start, end) => page.close(html.slice(start, end).toLowerCase()),
    ontext: (start, end) => page.text(html.slice(start, end)),
    ontextentity: (codePoint) => page.text(String.fromCodePoint(codePoint)),
    oncdata() {},
    oncomment() {},
    ondeclaration() {},
    onprocessinginstruction() {},
    onend() {},
  };
  const tokenizer = new Tokenizer({ recognizeSelfClosing: true }, callbacks);
  tokenizer.write(html);
  tokenizer.end();
  return page.finish();
}

type Lines = ReturnType<typeof createLines>;

/** What each tag does to the lines. */
function createPage(lines: Lines) {
  let hidden = 0;
  /** In <rp>, which may lack its end: it holds no tag. */
  let isAside = false;
  let preformatted = 0;
  let shift: { map: ReadonlyMap<string, string>; text: string } | undefined;
  let link: { href: string; from: number } | undefined;
  /** A player without an address of its own has that of its first <source>. */
  let player: { kind: string; attributes: Readonly<Record<string, string>> } | undefined;
  /** Of each list around the text, the number of its next item; undefined: its items have bullets. */
  const lists: (number | undefined)[] = [];
  const nextMarker = () => {
    const indent = '  '.repeat(Math.min(MAX_INDENTS, Math.max(0, lists.length - 1)));
    const number = lists.at(-1);
    if (number === undefined) return `${indent}- `;
    lists[lists.length - 1] = number + 1;
    return `${indent}${number}. `;
  };
  /** How many line breaks are around the block; a list within another has no empty lines. */
  const distanceOf = (name: string) => (LISTS.has(name) && lists.length > 0 ? 1 : BLOCKS.get(name));
  const writeShifted = () => {
    if (shift === undefined) return;
    lines.text(shifted(shift.text, shift.map));
    shift.text = '';
  };
  const endPlayer = (source: Readonly<Record<string, string>> = {}) => {
    if (player !== undefined) lines.text(mediaName(player.kind, { ...player.attributes, ...source }));
    player = undefined;
  };
  return {
    open(name: string, attributes: Readonly<Record<string, string>>) {
      isAside = name === 'rp';
      if (HIDDEN.has(name)) hidden += 1;
      if (hidden > 0) return;
      if (!FORMATTING.has(name)) writeShifted();
      const media = MEDIA.get(name);
      const distance = distanceOf(name);
      if (media !== undefined) {
        endPlayer();
        if (name === 'img' || attributes.src !== undefined) lines.text(mediaName(media, attributes));
        else player = { kind: media, attributes };
      } else if (name === 'source' && attributes.src !== undefined) endPlayer(attributes);
      else if (name === 'br') lines.lineBreak();
      else if (name === 'td' || name === 'th') lines.text(' ');
      else if (name === 'rt') lines.text('(');
      else if (name === 'sup') shift = { map: RAISED, text: '' };
      else if (name === 'sub') shift = { map: LOWERED, text: '' };
      else if (name === 'a') link = { href: attributes.href ?? '', from: lines.mark() };
      if (distance !== undefined) lines.block(distance);
      if (name === 'ul') lists.push(undefined);
      if (name === 'ol') lists.push(Number.parseInt(attributes.start ?? '1', 10) || 1);
      if (name === 'li') lines.beginItem(nextMarker());
      if (name === 'pre') preformatted += 1;
    },
    text(text: string) {
      if (hidden > 0 || isAside) return;
      if (preformatted > 0) lines.preformatted(text);
      else if (shift !== undefined) shift.text += text;
      else lines.text(text);
    },
    close(name: string) {
      isAside = false;
      if (HIDDEN.has(name)) hidden = Math.max(0, hidden - 1);
      if (hidden > 0) return;
      if (!FORMATTING.has(name)) writeShifted();
      if (LISTS.has(name)) lists.pop();
      const distance = distanceOf(name);
      if (distance !== undefined) lines.block(distance);
      if (name === 'li' || LISTS.has(name)) lines.endItem();
      else if (name === 'audio' || name === 'video') endPlayer();
      else if (name === 'pre') preformatted = Math.max(0, preformatted - 1);
      else if (name === 'rt') lines.text(')');
      else if (name === 'sup' || name === 'sub') shift = undefined;
      else if (name === 'a' && link !== undefined) {
        const { href, from } = link;
        link = undefined;
        const isShown = href.length > MAX_LINK_LENGTH || lines.since(from).includes(href);
        if (/^https?:/i.test(href) && !isShown) lines.text(` (${href})`);
      }
    },
    finish() {
      writeShifted();
      endPlayer();
      return lines.finish();
    },
  };
}

function mediaName(kind: string, { src = '', alt = '' }: Readonly<Record<string, string>>): string {
  const name = src.length <= MAX_NAME_LENGTH && !src.startsWith('data:') ? (percentDecoded(src) ?? src) : alt;
  return name === '' ? `[${kind}]` : `[${kind}: ${name.slice(0, MAX_NAME_LENGTH)}]`;
}

function translation(from: string, to: string): ReadonlyMap<string, string> {
  const targets = [...to];
  return new Map([...from].map((character, at) => [character, targets[at] ?? character]));
}

function shifted(text: string, map: ReadonlyMap<string, string>): string {
  const core = text.trim();
  let all = '';
  for (const character of core) {
    const to = map.get(character);
    if (to === undefined) return text.replace(core, () => marked(core, map));
    all += to;
  }
  return text.replace(core, () => all);
}

/**
 * As 2^(1/2), e^x and a_(n-1), which would read as 21/2, ex and an-1. Other letters stay, as those of 1er and Mr, and so do signs
 * alone (p53-/-, A*), a note in small letters and the mark of a footnote, such as [1].
 */
function marked(text: string, map: ReadonlyMap<string, string>): string {
  if (/\p{L}{3}|[[\]]/u.test(text)) return text;
  const hasOperator = /[-−+*/=]/.test(text) && /[\p{L}\d]/u.test(text);
  if (map === LOWERED) return hasOperator ? `_(${text})` : text;
  if (/^[kxyz]$/.test(text)) return `^${text}`;
  return hasOperator || /\d/.test(text) ? `^(${text})` : text;
}

/** As wide as `blanks` if some of them do not run together, as in a program; a single one of these is no indent. */
function indentOf(blanks: string): string {
  if (!/\u00a0\s?\u00a0/.test(blanks)) return '';
  return ' '.repeat(blanks.replace(/[^\S\u00a0]+/g, ' ').replace(/^ /, '').length);
}

/** Collects text as lines: blanks run together except in an indent, and at most one empty line stays between two others. */
function createLines(maxLength: number) {
  const parts: string[] = [];
  let length = 0;
  let breaks = 0;
  let exactBreaks = 0;
  let needsBlank = false;
  /** Since the latest text or line break. */
  let blanks = '';
  /** Of the item that has begun: its first text takes it, whatever tags are between. */
  let bullet = '';
  const push = (text: string) => {
    if (text === '' || length >= maxLength) return;
    const newLines = Math.max(Math.min(breaks, 2), exactBreaks);
    const before = newLines > 0 ? '\n'.repeat(newLines) + indentOf(blanks) : needsBlank ? ' ' : '';
    const part = (length === 0 ? '' : before) + bullet + text;
    breaks = 0;
    exactBreaks = 0;
    needsBlank = false;
    blanks = '';
    bullet = '';
    parts.push(part.slice(0, maxLength - length));
    length += part.length;
  };
  return {
    text(text: string) {
      const words = text.replace(/[\s\u00a0]+/g, ' ');
      if (words.startsWith(' ')) needsBlank = true;
      blanks += /^\s*/.exec(text)?.[0] ?? '';
      push(words.trim());
      if (words.length > 1 && words.endsWith(' ')) needsBlank = true;
    },
    preformatted(text: string) {
      for (const [at, line] of text.split(/\r?\n/).entries()) {
        if (at > 0) exactBreaks += 1;
        push(line.replaceAll('\u00a0', ' '));
      }
    },
    lineBreak() {
      breaks += 1;
      blanks = '';
    },
    block(distance: number) {
      breaks = Math.max(breaks, distance);
      blanks = '';
    },
    beginItem(marker: string) {
      bullet = marker;
    },
    endItem() {
      bullet = '';
    },
    mark: () => parts.length,
    since: (mark: number) => parts.slice(mark).join(''),
    finish: () => parts.join('').trim(),
  };
}
