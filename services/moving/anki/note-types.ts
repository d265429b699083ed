// Note types, decks and settings of a collection, which Anki keeps in three ways: JSON in the table `col` (schema 11), tables with
// JSON (14), tables with protobuf (15 to 18).
import protobuf from 'protobufjs';
import { isObject, parseJson } from '../../platform/text.ts';
import { MAX_CELL_BYTES, type Tables, text } from '../sqlite.ts';
import { unreadable } from '../unreadable.ts';
import { parseTemplate, type Template } from './template.ts';

type CardTemplate = { name: string; question: Template; answer: Template };

/** `fields` and `templates` by their ordinal; a cloze type has one template for all its cards. */
export type NoteType = {
  name: string;
  isCloze: boolean;
  fields: readonly string[];
  templates: readonly (CardTemplate | undefined)[];
};

/** The names of the decks by their IDs. */
export type Decks = ReadonlyMap<number, string>;

export type Settings = {
  schedulerVersion: number;
  rolloverHour: number;
  /** Minutes west of UTC where the collection was made; absent in those of older versions. */
  minutesWest: number | undefined;
};

/** Of templates: longer ones are scripts, or an attack. */
const MAX_TEMPLATE_LENGTH = 1024 * 1024;
/** Of all templates together: parsed, a node takes some 100 bytes, and its tag may have 5. */
const MAX_NODES = 500_000;
/** Of a deck, a note type, a field or a template. */
const MAX_NAME_LENGTH = 10_000;
/** Of a table, or of what JSON has in place of its rows. */
const MAX_ROWS = 100_000;
const MAX_TABLE_BYTES = 2 * MAX_CELL_BYTES;
const NAME = `${text('name', MAX_NAME_LENGTH)} AS name`;
const TOO_MANY = 'The collection has more note types or decks than any real one.';

/** @throws INVALID_REQUEST if they cannot be read. */
export function readNoteTypes(tables: Tables): Map<number, NoteType> {
  return tables.names.has('notetypes') ? noteTypesOfTables(tables) : noteTypesOfJson(tables);
}

export function readDecks(tables: Tables): Decks {
  const decks = new Map<number, string>();
  if (tables.names.has('decks')) {
    for (const { id, name } of bounded(tables, `SELECT id, ${NAME} FROM decks`))
      decks.set(Number(id), `${name ?? ''}`);
    return decks;
  }
  const all = Object.entries(readJson(tables, 'decks'));
  requireRows(all.length);
  for (const [id, deck] of all) decks.set(Number(id), nameOf(deck));
  return decks;
}

export function readSettings(tables: Tables): Settings {
  const settings = tables.names.has('config') ? configOfTable(tables) : readJson(tables, 'conf');
  const number = (key: string) => {
    const value = settings[key];
    return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
  };
  const rolloverHour = Math.trunc(number('rollover') ?? DEFAULT_ROLLOVER_HOUR);
  const minutesWest = number('creationOffset');
  const isOffset = Number.isInteger(minutesWest) && Math.abs(Number(minutesWest)) <= 1440;
  return {
    // Collections that do not say so are of the first version.
    schedulerVersion: number('schedVer') ?? 1,
    // Anki reads a byte, and takes what is no hour for the last one.
    rolloverHour:
      rolloverHour >= 0 && rolloverHour <= 255 ? Math.min(23, rolloverHour) : DEFAULT_ROLLOVER_HOUR,
    minutesWest: isOffset ? minutesWest : undefined,
  };
}

const DEFAULT_ROLLOVER_HOUR = 4;

/** Of "Spanish::Verbs", or with U+001F between the parts. */
export function pathOf(name: string): string[] {
  return name.split('\u001f').flatMap((part) => part.split('::'));
}

function configOfTable(tables: Tables): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  const wanted = "'schedVer', 'rollover', 'creationOffset'";
  const sql = `SELECT key, ${text('val', 100)} AS val FROM config WHERE key IN (${wanted})`;
  for (const { key, val } of bounded(tables, sql)) settings[`${key}`] = parseJson(`${val ?? 'null'}`);
  return settings;
}

function noteTypesOfJson(tables: Tables): Map<number, NoteType> {
  const types = new Map<number, NoteType>();
  const toTemplate = createTemplates();
  let rows = 0;
  for (const [id, type] of Object.entries(readJson(tables, 'models'))) {
    if (!isObject(type)) continue;
    const [allFields, allTemplates] = [listOf(type, 'flds'), listOf(type, 'tmpls')];
    rows += 1 + allFields.length + allTemplates.length;
    requireRows(rows);
    const templates: CardTemplate[] = [];
    for (const [index, template] of allTemplates.entries()) {
      const ord = isObject(template) && typeof template.ord === 'number' ? template.ord : index;
      if (ord >= 0 && ord < MAX_TEMPLATES)
        templates[ord] = toTemplate(nameOf(template), textOf(template, 'qfmt'), textOf(template, 'afmt'));
    }
    const fields = allFields.map(nameOf);
    types.set(Number(id), { name: nameOf(type), isCloze: type.type === 1, fields, templates });
  }
  return types;
}

const MAX_TEMPLATES = 1000;

function noteTypesOfTables(tables: Tables): Map<number, NoteType> {
  const types = new Map<number, NoteType & { fields: string[]; templates: CardTemplate[] }>();
  const toTemplate = createTemplates();
  const config = `CASE WHEN octet_length(config) <= ${2 * MAX_TEMPLATE_LENGTH} THEN config END AS config`;
  for (const row of bounded(tables, `SELECT id, ${NAME}, ${config} FROM notetypes`)) {
    const { kind } = fieldsOf(row.config);
    types.set(Number(row.id), { name: `${row.name}`, isCloze: kind === 1, fields: [], templates: [] });
  }
  const of = (table: string, columns: string) =>
    bounded(tables, `SELECT ntid, ord, ${NAME} ${columns} FROM ${table} ORDER BY ntid, ord`);
  for (const { ntid, name } of of('fields', '')) types.get(Number(ntid))?.fields.push(`${name ?? ''}`);
  for (const { ntid, ord, name, config: bytes } of of('templates', `, ${config}`)) {
    const type = types.get(Number(ntid));
    if (type === undefined || !(Number(ord) >= 0 && Number(ord) < MAX_TEMPLATES)) continue;
    const { question, answer } = fieldsOf(bytes);
    type.templates[Number(ord)] = toTemplate(`${name ?? ''}`, question, answer);
  }
  return types;
}

/** Of the messages Notetype.Config (field 1: its kind) and Template.Config (1 and 2: its sides). */
function fieldsOf(bytes: unknown): { kind: number; question: string; answer: string } {
  const found = { kind: 0, question: '', answer: '' };
  if (!(bytes instanceof Uint8Array)) return found;
  const reader = protobuf.Reader.create(bytes);
  try {
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      if (tag === 8) found.kind = reader.uint32();
      else if (tag === 10) found.question = reader.string();
      else if (tag === 18) found.answer = reader.string();
      else reader.skipType(tag & 7);
    }
  } catch (error) {
    throw unreadable('A note type of the collection is damaged.', error);
  }
  return found;
}

/** Returns a function that makes a template of its texts. It throws INVALID_REQUEST if all together are too much for the memory. */
function createTemplates() {
  let nodes = 0;
  const parsed = (text: string) => {
    const template = parseTemplate(text.slice(0, MAX_TEMPLATE_LENGTH));
    nodes += template.length;
    if (nodes > MAX_NODES) throw unreadable(TOO_MANY);
    return template;
  };
  return (name: string, question: string, answer: string): CardTemplate => ({
    name,
    question: parsed(question),
    answer: parsed(answer),
  });
}

/** The JSON object in that column of `col`. */
function readJson(tables: Tables, column: 'conf' | 'models' | 'decks'): Record<string, unknown> {
  const [row] = tables.rows(`SELECT ${text(column)} AS json FROM col LIMIT 1`);
  if (row === undefined) throw unreadable('The collection is empty: its table "col" has no row.');
  if (row.json === null)
    throw unreadable(`The collection has more than ${MAX_CELL_BYTES / 1024 / 1024} MiB of "${column}".`);
  const value = parseJson(`${row.json}` || '{}');
  // A list has nothing under a name: a collection with one has none of what the column holds.
  if (Array.isArray(value)) return {};
  if (!isObject(value)) throw unreadable(`The collection is damaged: its "${column}" cannot be read.`);
  return value;
}

/** @throws INVALID_REQUEST for more rows than the memory has room for. */
function requireRows(rows: number): void {
  if (rows > MAX_ROWS) throw unreadable(TOO_MANY);
}

function* bounded(tables: Tables, sql: string) {
  let [rows, bytes] = [0, 0];
  for (const row of tables.rows(sql)) {
    rows += 1;
    requireRows(rows);
    for (const cell of Object.values(row))
      if (typeof cell === 'string' || cell instanceof Uint8Array) bytes += cell.length;
    if (bytes > MAX_TABLE_BYTES) throw unreadable(TOO_MANY);
    yield row;
  }
}

function nameOf(value: unknown): string {
  return textOf(value, 'name').slice(0, MAX_NAME_LENGTH);
}

function textOf(value: unknown, key: string): string {
  const text = isObject(value) ? value[key] : undefined;
  return typeof text === 'string' ? text : '';
}

function listOf(value: Record<string, unknown>, key: string): unknown[] {
  const list = value[key];
  return Array.isArray(list) ? list : [];
}
