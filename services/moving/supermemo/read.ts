// Reads the XML that smconv makes of a SuperMemo collection for Palm.
import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Parser } from 'htmlparser2';
import { Temporal } from 'temporal-polyfill';
import type { MaterialRecordInput } from '../../../generated/scheduling/v1/MaterialRecord.ts';
import {
  type Card,
  type CardSchedule,
  cleaned,
  DEFAULT_EASE_FACTOR,
  IMPOSSIBLE_DUE,
  isDueTime,
  isPast,
  MS_OF_DAY,
  toEaseFactor,
  toIntervalDays,
  toTexts,
} from '../card.ts';
import type { Findings, Note } from '../findings.ts';
import { toLabels } from '../labels.ts';
import { toRecords } from '../record.ts';
import { createTextSet } from '../text-set.ts';
import { unreadable } from '../unreadable.ts';

/** Of a card's fields together, and of a tag, in UTF-16 units. */
const MAX_TEXT = 1024 * 1024;
const MAX_DEPTH = 20;
/** The steepest rise between two intervals that says anything of the ease. */
const MAX_EASE_FACTOR = 4;

type Context = { timeZone: string; nowMs: number; findings: Findings };
type Parsed = { category: string; fields: string[]; other: Readonly<Record<string, string>> };

/** @throws INVALID_REQUEST for XML that is cut off, nested deeply, or has a card or a tag of over 1 MiB. */
export async function* readSmconv(path: string, context: Context): AsyncGenerator<MaterialRecordInput> {
  const sources = createTextSet();
  let number = 0;
  for await (const parsed of readXml(path)) {
    number += 1;
    const card = toCard(parsed, context, (reason) => context.findings.add('note', reason, `card ${number}`));
    const leave = (reason: string) => context.findings.add('material', reason, `card ${number}`);
    if (card.title === '') leave('its first field is empty');
    else if (sources.has(card.source)) leave('it is there twice');
    else yield* toRecords([card]);
    sources.add(card.source);
  }
}

function toCard({ category, fields, other }: Parsed, { timeZone, nowMs }: Context, note: Note): Card {
  // An empty field is a hole, which map would leave.
  const [question = '', ...answers] = Array.from(fields, (field = '') => cleaned(field).trim());
  const rest = answers.filter((answer) => answer !== '');
  const day = (name: string) => midnightOf(other[name], timeZone);
  const past = (ms: number | undefined) => (ms !== undefined && isPast(ms, nowMs) ? ms : undefined);
  const schedule = scheduleOf(other, day('datenexttest'), { nowMs, note });
  const lastMs =
    schedule?.dueMs === undefined ? undefined : schedule.dueMs - schedule.intervalDays * MS_OF_DAY;
  return {
    source: `smconv:${hash('sha256', fields.join('\0')).slice(0, 32)}`,
    ...toTexts(question, rest.join('\n\n'), note),
    type: 'flashcard',
    labels: toLabels([[category]], note),
    createMs: past(day('datecreate')),
    schedule,
    lastReviewMs: past(lastMs),
    reviews: [],
  };
}

/** SuperMemo's difficulty has no equivalent here; the growth of the latest interval serves as ease factor. */
function scheduleOf(
  other: Parsed['other'],
  dueMs: number | undefined,
  { nowMs, note }: { nowMs: number; note: Note },
): CardSchedule | undefined {
  const number = (name: string) => Number.parseInt(other[name] ?? '', 10) || 0;
  const [days, before] = [number('interval'), number('interval_prev')];
  if (days <= 0) return undefined;
  const isGood = dueMs !== undefined && isDueTime(dueMs, nowMs);
  if (!isGood) note(IMPOSSIBLE_DUE);
  const growth = before > 0 ? Math.min(MAX_EASE_FACTOR, days / before) : DEFAULT_EASE_FACTOR;
  return {
    easeFactor: toEaseFactor(growth),
    intervalDays: toIntervalDays(days),
    repetitions: 2,
    dueMs: isGood ? dueMs : undefined,
  };
}

function midnightOf(date: string | undefined, timeZone: string): number | undefined {
  try {
    return Temporal.PlainDate.from(date ?? '').toZonedDateTime(timeZone).epochMilliseconds;
  } catch {
    return undefined;
  }
}

async function* readXml(path: string): AsyncGenerator<Parsed> {
  const ready: Parsed[] = [];
  let card: Parsed | undefined;
  let fieldIndex: number | undefined;
  let length = 0;
  /** Position up to which the parser has reported the file. It buffers a tag until the tag's end. */
  let reported = 0;
  let depth = 0;
  let isComplete = false;
  const parser: Parser = new Parser(
    {
      onopentag(name, attributes) {
        reported = parser.endIndex;
        depth += 1;
        if (depth > MAX_DEPTH) throw unreadable('The XML is nested deeper than that of smconv.');
        if (name === 'card') {
          card = { category: attributes.category ?? '', fields: [], other: {} };
          length = 0;
        } else if (name === 'card_other' && card !== undefined) card.other = attributes;
        else if (name === 'card_field') fieldIndex = Number(attributes.idx) - 1;
      },
      ontext(text) {
        reported = parser.endIndex;
        if (card === undefined || fieldIndex === undefined || !(fieldIndex >= 0 && fieldIndex < 100)) return;
        length += text.length;
        if (length > MAX_TEXT) throw unreadable('A card has more than 1 MiB of text.');
        card.fields[fieldIndex] = (card.fields[fieldIndex] ?? '') + text;
      },
      onclosetag(name, isImplied) {
        depth -= 1;
        if (name === 'card_field') fieldIndex = undefined;
        if (name === 'card' && card !== undefined && !isImplied) ready.push(card);
        if (name === 'smconv_pl') isComplete = !isImplied;
      },
    },
    { xmlMode: true },
  );
  let written = 0;
  for await (const text of decoded(path)) {
    parser.write(text);
    yield* ready.splice(0);
    written += text.length;
    if (written - reported > MAX_TEXT) throw unreadable('A tag has more than 1 MiB.');
  }
  parser.end();
  yield* ready.splice(0);
  if (!isComplete) throw unreadable('The file is cut off: the end of its XML is missing.');
}

/** In the encoding that the XML declares; UTF-8 if it declares none. */
async function* decoded(path: string): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      const name = /^[^>]{0,100}encoding=["']([\w-]{1,20})["']/.exec(chunk.toString('latin1', 0, 200))?.[1];
      decoder ??= new TextDecoder(name ?? 'utf-8', { fatal: true });
      yield decoder.decode(chunk, { stream: true });
    }
    if (decoder !== undefined) yield decoder.decode();
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError)
      throw unreadable('The file is not in the encoding that its XML declares.', error);
    throw error;
  }
}
