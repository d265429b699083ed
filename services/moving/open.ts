// Opens a file of any form that can be imported. The content determines the form, never the name.
import { stat } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { MaterialRecordInput } from '../../generated/scheduling/v1/MaterialRecord.ts';
import type { SettingsVersionInput } from '../../generated/scheduling/v1/SettingsVersion.ts';
import { toError } from '../platform/thrown.ts';
import { copyCollection, unpackCollection } from './anki/package.ts';
import { openCollection } from './anki/read.ts';
import { readCsv } from './csv/read.ts';
import { createFindings, type Findings } from './findings.ts';
import { readJsonl } from './jsonl/read.ts';
import { firstBytes } from './lines.ts';
import { openMnemosyne } from './mnemosyne/read.ts';
import { sendable, toRecords } from './record.ts';
import { isSqlite } from './sqlite.ts';
import { readSmconv } from './supermemo/read.ts';
import { unreadable } from './unreadable.ts';
import type { Workplace } from './workplace.ts';

export const FORMS = ['apkg', 'csv', 'jsonl', 'mnemosyne'] as const;
export type Form = (typeof FORMS)[number] | 'supermemo';

/** A file that has been read in full once, so that a damaged one has already been refused. */
export type Collection = {
  form: Form;
  /** About how many records there are. */
  materials: number;
  /** Versions of the learner's settings; only our own form has them. */
  settings: readonly SettingsVersionInput[];
  /** Reads the records, and reports to `findings` what is left out. */
  records(findings: Findings): AsyncIterable<MaterialRecordInput>;
  close(): void;
};

type OpenContext = {
  workplace: Workplace;
  /** For dates without a time zone: that in which the owner of the collection learns. */
  timeZone: string;
  nowMs: number;
  /** What the file must be; undefined: any form. */
  as: Form | undefined;
};

/** @throws INVALID_REQUEST that says why it cannot be imported. */
export async function openCollectionFile(path: string, context: OpenContext): Promise<Collection> {
  const { workplace, as } = context;
  const kind = await kindOf(path);
  const { form, name } = KINDS[kind];
  if (as !== undefined && as !== form) throw unreadable(`The file is not ${as}: its content is ${name}.`);
  if (kind === 'anki package' || kind === 'anki collection' || kind === 'mnemosyne') {
    if (kind === 'anki collection') await requireNoLog(path);
    const copy =
      kind === 'anki package'
        ? await unpackCollection(path, workplace.folder)
        : { path: await copyCollection(path, workplace.folder) };
    const openCopy = kind === 'mnemosyne' ? openMnemosyne : openCollection;
    const collection = await openCopy(copy.path, { ...context, ...copy });
    return {
      ...collection,
      form,
      settings: [],
      records: (findings) => toRecords(collection.cards(findings)),
    };
  }
  const read = { csv: readCsv, jsonl: readJsonl, supermemo: readSmconv }[kind];
  const settings: SettingsVersionInput[] = [];
  const records = (findings: Findings) => sendable(read(path, { ...context, findings }), findings);
  // Read once before anything of it is sent: damage is at the end of most files that have some.
  let materials = 0;
  const addSettings = (version: SettingsVersionInput) => void settings.push(version);
  for await (const { material } of read(path, { ...context, findings: createFindings(), addSettings }))
    if (material) materials += 1;
  return { form, materials, settings, records, close() {} };
}

/** What files there are. `name`: in refusals. */
const KINDS = {
  'anki package': { form: 'apkg', name: 'a package of Anki' },
  'anki collection': { form: 'apkg', name: 'a collection of Anki' },
  mnemosyne: { form: 'mnemosyne', name: 'a database of Mnemosyne' },
  csv: { form: 'csv', name: 'a text, taken as CSV' },
  jsonl: { form: 'jsonl', name: 'JSONL' },
  supermemo: { form: 'supermemo', name: 'XML of smconv' },
} as const satisfies Record<string, { form: Form; name: string }>;
type Kind = keyof typeof KINDS;

const KNOWN =
  'It is none of the forms that can be imported: a package or collection of Anki (.apkg, .colpkg, .anki2), CSV or TSV, ' +
  'JSONL of this service, a database of Mnemosyne, XML of smconv.';
const HEAD_BYTES = 16 * 1024;

async function kindOf(path: string): Promise<Kind> {
  const head = await readHead(path);
  if (head.length === 0) throw unreadable('The file is empty.');
  if (head.subarray(0, 4).equals(ZIP)) return 'anki package';
  if (isSqlite(head)) return kindOfDatabase(path);
  const hasUtf16Mark = /^(\xff\xfe|\xfe\xff)/.test(head.toString('latin1', 0, 2));
  const text = head
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart();
  if (!hasUtf16Mark && head.includes(0)) throw unreadable(KNOWN);
  if (/^<(\?xml|smconv_pl)/i.test(text)) {
    if (!text.includes('<smconv_pl')) throw unreadable(KNOWN);
    return 'supermemo';
  }
  if (/^\{\s*"kind"\s*:/.test(text)) return 'jsonl';
  if (/^(?:\{\s*"|\[\s*\{)/.test(text)) throw unreadable(OTHER_JSON);
  if (PAGE_OR_RICH_TEXT.test(text)) throw unreadable(KNOWN);
  return 'csv';
}

const OTHER_JSON =
  'It is JSON, but not JSONL of this service, in which each line begins with the field "kind". Nothing was imported.';
/** Not CSV: each line would become a card. */
const PAGE_OR_RICH_TEXT = /^(?:\{\\rtf|(?:<!doctype html[^>]*>\s*)?<html[^>]*>\s*<(?:head|body)\b)/i;

const ZIP = Buffer.from('PK\x03\x04', 'latin1');

async function readHead(path: string): Promise<Buffer> {
  try {
    const info = await stat(path);
    if (!info.isFile()) throw unreadable(`${path} is not a file.`);
    return await firstBytes(path, HEAD_BYTES);
  } catch (error) {
    const { code } = toError(error) as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw unreadable(`There is no file ${path}.`, error);
    if (code === 'EACCES') throw unreadable(`The file ${path} may not be read by this account.`, error);
    throw error;
  }
}

/** By the names of its tables; they are read, and nothing else. */
function kindOfDatabase(path: string): Kind {
  let names: Set<unknown>;
  // Without this, SQLite would make files beside it.
  const immutable = pathToFileURL(path);
  immutable.searchParams.set('immutable', '1');
  try {
    const database = new DatabaseSync(immutable, { readOnly: true });
    try {
      const rows = database.prepare('SELECT name FROM sqlite_schema LIMIT 10000').all();
      names = new Set(rows.map(({ name }) => name));
    } finally {
      database.close();
    }
  } catch (error) {
    throw unreadable(`The database is damaged (${toError(error).message}). Nothing was imported.`, error);
  }
  if (names.has('data_for_fact')) return 'mnemosyne';
  if (names.has('revlog') || names.has('notes')) return 'anki collection';
  throw unreadable(KNOWN);
}

/** Changes that Anki has not yet written into the collection are in a file beside it. */
async function requireNoLog(path: string): Promise<void> {
  const log = await stat(`${path}-wal`).catch(() => undefined);
  if (log !== undefined && log.size > 0)
    throw unreadable(
      'The collection is open in Anki, or was not closed. Open and close Anki, then import again.',
    );
}
