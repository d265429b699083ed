// Anki's packages, .apkg and .colpkg: zip files with a collection, in three versions.
import { createWriteStream } from 'node:fs';
import { chmod, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdDecompress } from 'node:zlib';
import protobuf from 'protobufjs';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { isSqlite } from '../sqlite.ts';
import { orUnreadable, unreadable } from '../unreadable.ts';

/** Of a collection, unpacked. The largest known ones have some 500 MB. */
const MAX_COLLECTION_BYTES = 4 * 1024 ** 3;
/** A collection compresses to about a fifth. Beyond RATIO_FROM_BYTES, a file that expands more than this is taken for a zip bomb. */
const MAX_RATIO = 100;
const RATIO_FROM_BYTES = 64 * 1024 * 1024;
const MAX_META_BYTES = 1024;
const MAX_ENTRIES = 2_000_000;
/** Of the window of zstd, as a power of two: 32 MiB. Anki uses at most 8. */
const MAX_WINDOW_LOG = 25;

const COLLECTIONS = ['collection.anki21b', 'collection.anki21', 'collection.anki2'] as const;
/** What Mnemosyne's files for sharing hold, in XML. */
const CARDS_OF_MNEMOSYNE = 'cards.xml';
const DAMAGED = 'The package is damaged or incomplete';

/** `schedulerVersion`: of Anki's scheduler, at least; the collection's settings may say more. */
type Unpacked = { path: string; schedulerVersion: number };

/**
 * Unpacks the collection of the package at `path` into `folder`. Nothing else of it is unpacked, and no name of it is used.
 * @throws INVALID_REQUEST if there is none, or it is damaged or too large.
 */
export async function unpackCollection(path: string, folder: string): Promise<Unpacked> {
  const zip = await orUnreadable(DAMAGED, () => openPromise(path, { lazyEntries: true, autoClose: false }));
  try {
    const entries = await orUnreadable(DAMAGED, () => findEntries(zip));
    requirePackage(entries);
    const version = await orUnreadable(DAMAGED, () => versionOf(zip, entries));
    const name = COLLECTIONS[3 - version];
    const entry = name === undefined ? undefined : entries.get(name);
    if (entry === undefined) throw unreadable(`The package is of version ${version}, but has no ${name}.`);
    const target = join(folder, 'collection.anki2');
    await orUnreadable(DAMAGED, () => unpack(zip, entry, target, version === 3));
    // Anki 2.1 to 2.1.44 wrote this one for version 2 of the scheduler alone, and gave it the settings of a new collection, with 1.
    const isOfSecond = version === 2 && !entries.has('meta');
    return { path: target, schedulerVersion: isOfSecond ? 2 : 1 };
  } finally {
    zip.close();
  }
}

/** Copies the collection at `path`, which Anki keeps outside of packages, into `folder`. */
export async function copyCollection(path: string, folder: string): Promise<string> {
  const target = join(folder, 'collection.anki2');
  await copyFile(path, target);
  // The copy has the mode of the file, which may be read-only.
  await chmod(target, 0o600);
  return target;
}

async function findEntries(zip: ZipFile): Promise<Map<string, Entry>> {
  if (zip.entryCount > MAX_ENTRIES) throw unreadable(`The package has ${zip.entryCount} entries.`);
  const wanted = new Set<string>(['meta', CARDS_OF_MNEMOSYNE, ...COLLECTIONS]);
  const found = new Map<string, Entry>();
  for await (const entry of zip.eachEntry()) {
    if (!wanted.has(entry.fileName)) continue;
    if (found.has(entry.fileName)) throw unreadable(`The package has "${entry.fileName}" twice.`);
    found.set(entry.fileName, entry);
  }
  return found;
}

/** @throws INVALID_REQUEST for other zip files, with what to do about them. */
function requirePackage(entries: ReadonlyMap<string, Entry>): void {
  if (entries.has(CARDS_OF_MNEMOSYNE))
    throw unreadable(
      'A .cards file of Mnemosyne holds no schedules. Import it in Mnemosyne, then import its database, default.db.',
    );
  if (entries.size === 0)
    throw unreadable(
      'The zip file is not an Anki package. A spreadsheet can be imported once it is saved as CSV.',
    );
}

/** Of the file meta, a protobuf message with the version as field 1; packages without it are of version 1 or 2. */
async function versionOf(zip: ZipFile, entries: ReadonlyMap<string, Entry>): Promise<number> {
  const meta = entries.get('meta');
  if (meta === undefined) return entries.has('collection.anki21') ? 2 : 1;
  if (meta.uncompressedSize > MAX_META_BYTES) throw unreadable('The package has a damaged "meta".');
  const chunks: Buffer[] = [];
  for await (const chunk of await zip.openReadStreamPromise(meta)) chunks.push(chunk);
  const reader = protobuf.Reader.create(Buffer.concat(chunks));
  let version = 0;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === 8) version = reader.uint32();
    else reader.skipType(tag & 7);
  }
  if (version < 1 || version > 3)
    throw unreadable(`The package is of version ${version}; versions 1, 2 and 3 can be imported.`);
  return version;
}

async function unpack(zip: ZipFile, entry: Entry, target: string, isZstd: boolean): Promise<void> {
  if (entry.uncompressedSize > MAX_COLLECTION_BYTES) throw tooLarge();
  const limit = limitedBytes(entry.compressedSize);
  const from = await zip.openReadStreamPromise(entry);
  const to = createWriteStream(target, { mode: 0o600 });
  if (!isZstd) return pipeline(from, limit, to);
  const zstd = createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG } });
  return pipeline(from, zstd, limit, to);
}

/** Passes the data on; fails if they are not a SQLite database, or too large, in total or for `packedBytes`. */
function limitedBytes(packedBytes: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (bytes === 0 && !isSqlite(chunk))
        return done(unreadable('The collection in the package is not a SQLite database.'));
      bytes += chunk.length;
      const isBomb = bytes > RATIO_FROM_BYTES && bytes > packedBytes * MAX_RATIO;
      if (isBomb || bytes > MAX_COLLECTION_BYTES) return done(tooLarge());
      return done(null, chunk);
    },
  });
}

function tooLarge() {
  return unreadable('The collection in the package is larger than any real one. Nothing was imported.');
}
