// Writes collections and packages as Anki does, and as it never would.
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import { zstdCompressSync } from 'node:zlib';
import { ZipFile } from 'yazl';

/** 2020-01-01T04:00Z, a collection's first day in UTC. */
export const CREATED_SECONDS = 1_577_851_200;

type NoteOfFile = {
  id?: number;
  guid?: string;
  mid?: number;
  mod?: number;
  tags?: string;
  fields?: string[];
};
type CardOfFile = {
  id?: number;
  nid?: number;
  did?: number;
  ord?: number;
  mod?: number;
  type?: number;
  queue?: number;
};
type Scheduling = { due?: number; ivl?: number; factor?: number; odue?: number; odid?: number };
type LogOfFile = {
  id: number;
  cid?: number;
  ease?: number;
  ivl?: number;
  lastIvl?: number;
  factor?: number;
  type?: number;
};
type TypeOfFile = {
  id: number;
  name?: string;
  kind?: number;
  fields: string[];
  templates: [question: string, answer: string][];
};

export type CollectionOfFile = {
  schema?: 11 | 18;
  createdSeconds?: number;
  settings?: Record<string, unknown>;
  noteTypes?: TypeOfFile[];
  decks?: Record<number, string>;
  notes?: NoteOfFile[];
  cards?: (CardOfFile & Scheduling)[];
  log?: LogOfFile[];
  /** Run at the end. */
  sql?: string;
};

export const BASIC: TypeOfFile = {
  id: 1000,
  name: 'Basic',
  fields: ['Front', 'Back'],
  templates: [['{{Front}}', '{{FrontSide}}\n\n<hr id=answer>\n\n{{Back}}']],
};

const COLUMNS = {
  notes:
    'id integer PRIMARY KEY, guid text, mid integer, mod integer, usn integer, tags text, flds text, sfld integer, csum integer, flags integer, data text',
  cards:
    'id integer PRIMARY KEY, nid integer, did integer, ord integer, mod integer, usn integer, type integer, queue integer, due integer, ivl integer, factor integer, reps integer, lapses integer, left integer, odue integer, odid integer, flags integer, data text',
  revlog:
    'id integer PRIMARY KEY, cid integer, usn integer, ease integer, ivl integer, lastIvl integer, factor integer, time integer, type integer',
  col: 'id integer PRIMARY KEY, crt integer, mod integer, scm integer, ver integer, dty integer, usn integer, ls integer, conf text, models text, decks text, dconf text, tags text',
};

/** A collection at `path`; without contents, a Basic note type and a deck "Default". */
export function writeCollection(path: string, collection: CollectionOfFile = {}): string {
  const {
    schema = 11,
    noteTypes = [BASIC],
    decks = { 1: 'Default' },
    settings = { schedVer: 2 },
  } = collection;
  const database = new DatabaseSync(path, { defensive: false });
  // No test needs what a crash of the machine would keep.
  database.exec('PRAGMA synchronous = OFF');
  for (const [table, columns] of Object.entries(COLUMNS)) database.exec(`CREATE TABLE ${table} (${columns})`);
  database.exec(
    'CREATE INDEX ix_revlog_cid ON revlog (cid); CREATE INDEX ix_cards_nid ON cards (nid); BEGIN',
  );
  const json = schema === 11 ? jsonOf(noteTypes, decks, settings) : ['', '', ''];
  database
    .prepare("INSERT INTO col VALUES (1, ?, 0, 0, ?, 0, 0, 0, ?, ?, ?, '{}', '{}')")
    .run(collection.createdSeconds ?? CREATED_SECONDS, schema, ...json);
  if (schema === 18) writeTables(database, noteTypes, decks, settings);
  writeRows(database, collection);
  database.exec(`COMMIT; ${collection.sql ?? ''}`);
  database.close();
  return path;
}

function writeRows(database: DatabaseSync, { notes = [{}], cards = [{}], log = [] }: CollectionOfFile): void {
  const note = database.prepare("INSERT INTO notes VALUES (?, ?, ?, ?, 0, ?, ?, 0, 0, 0, '')");
  for (const {
    id = 1,
    guid = `guid${id}`,
    mid = BASIC.id,
    mod = CREATED_SECONDS,
    tags = '',
    fields = ['front', 'back'],
  } of notes)
    note.run(id, guid, mid, mod, tags, fields.join('\u001f'));
  const card = database.prepare(
    "INSERT INTO cards VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?, 0, '')",
  );
  for (const {
    id = 1,
    nid = 1,
    did = 1,
    ord = 0,
    mod = CREATED_SECONDS,
    type = 0,
    queue = type,
    ...rest
  } of cards) {
    const { due = 0, ivl = 0, factor = 0, odue = 0, odid = 0 } = rest;
    card.run(id, nid, did, ord, mod, type, queue, due, ivl, factor, odue, odid);
  }
  const row = database.prepare('INSERT INTO revlog VALUES (?, ?, 0, ?, ?, ?, ?, 0, ?)');
  for (const { id, cid = 1, ease = 3, ivl = 1, lastIvl = 0, factor = 2500, type = 1 } of log)
    row.run(id, cid, ease, ivl, lastIvl, factor, type);
}

function jsonOf(noteTypes: TypeOfFile[], decks: Record<number, string>, settings: object): string[] {
  const models = noteTypes.map(({ id, name = '', kind = 0, fields, templates }) => ({
    id,
    name,
    type: kind,
    flds: fields.map((field, ord) => ({ name: field, ord })),
    tmpls: templates.map(([qfmt, afmt], ord) => ({ name: `Card ${ord + 1}`, ord, qfmt, afmt })),
  }));
  const byId = Object.fromEntries(models.map((model) => [model.id, model]));
  const named = Object.entries(decks).map(([id, name]) => [id, { id: Number(id), name }]);
  return [settings, byId, Object.fromEntries(named)].map((each) => JSON.stringify(each));
}

function writeTables(
  database: DatabaseSync,
  noteTypes: TypeOfFile[],
  decks: Record<number, string>,
  settings: object,
): void {
  // Anki's collation, which the program that reads it does not have.
  database.exec(`PRAGMA writable_schema = ON;
    CREATE TABLE config (KEY text NOT NULL PRIMARY KEY, usn integer, mtime_secs integer, val blob) WITHOUT ROWID;
    CREATE TABLE notetypes (id integer PRIMARY KEY, name text, mtime_secs integer, usn integer, config blob);
    CREATE TABLE fields (ntid integer, ord integer, name text, config blob, PRIMARY KEY (ntid, ord)) WITHOUT ROWID;
    CREATE TABLE templates (ntid integer, ord integer, name text, mtime_secs integer, usn integer, config blob, PRIMARY KEY (ntid, ord)) WITHOUT ROWID;
    CREATE TABLE decks (id integer PRIMARY KEY, name text, mtime_secs integer, usn integer, common blob, kind blob);
    CREATE UNIQUE INDEX idx_decks_name ON decks (name);
    CREATE UNIQUE INDEX idx_notetypes_name ON notetypes (name)`);
  for (const [key, value] of Object.entries(settings))
    database.prepare('INSERT INTO config VALUES (?, 0, 0, ?)').run(key, Buffer.from(JSON.stringify(value)));
  for (const [id, name] of Object.entries(decks))
    database
      .prepare("INSERT INTO decks VALUES (?, ?, 0, 0, x'', x'')")
      .run(Number(id), name.replaceAll('::', '\u001f'));
  for (const { id, name = '', kind = 0, fields, templates } of noteTypes) {
    const config = kind === 0 ? Buffer.alloc(0) : Buffer.from([8, kind]);
    database.prepare('INSERT INTO notetypes VALUES (?, ?, 0, 0, ?)').run(id, name, config);
    for (const [ord, field] of fields.entries())
      database.prepare("INSERT INTO fields VALUES (?, ?, ?, x'')").run(id, ord, field);
    for (const [ord, [question, answer]] of templates.entries())
      database
        .prepare('INSERT INTO templates VALUES (?, ?, ?, 0, 0, ?)')
        .run(id, ord, `Card ${ord + 1}`, Buffer.concat([bytesField(1, question), bytesField(2, answer)]));
  }
  database.exec(`UPDATE sqlite_schema SET sql = replace(sql, 'name text', 'name text NOT NULL COLLATE unicase')
    WHERE type = 'table' AND name IN ('decks', 'notetypes', 'fields', 'templates')`);
}

/** A field of a protobuf message that holds a text. */
function bytesField(number: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  const length: number[] = [];
  for (let left = bytes.length; ; left >>>= 7) {
    length.push(left < 128 ? left : (left & 127) | 128);
    if (left < 128) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
}

/** A zip file at `path`. */
export async function writeZip(
  path: string,
  entries: Record<string, Buffer>,
  { compress = true } = {},
): Promise<string> {
  const zip = new ZipFile();
  for (const [name, bytes] of Object.entries(entries)) zip.addBuffer(bytes, name, { compress });
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path));
  return path;
}

/** A package of that version, with the dummy collection that Anki puts beside a newer one. */
export async function writePackage(
  folder: string,
  version: 1 | 2 | 3,
  collection: CollectionOfFile = {},
): Promise<string> {
  const schema = version === 3 ? 18 : 11;
  const name = `${crypto.randomUUID()}.anki2`;
  const bytes = await readFile(writeCollection(join(folder, name), { schema, ...collection }));
  const dummy = await readFile(
    writeCollection(join(folder, `dummy-${name}`), {
      notes: [{ guid: 'dummy', fields: ['Please update', ''] }],
    }),
  );
  const entries: Record<1 | 2 | 3, Record<string, Buffer>> = {
    1: { 'collection.anki2': bytes },
    2: { 'collection.anki2': dummy, 'collection.anki21': bytes },
    3: {
      meta: Buffer.from([8, 3]),
      'collection.anki2': dummy,
      'collection.anki21b': zstdCompressSync(bytes),
    },
  };
  return writeZip(join(folder, `${name}.apkg`), { ...entries[version], media: Buffer.from('{}') });
}
