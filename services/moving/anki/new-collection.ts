// An empty collection of schema 11, which every version of Anki opens, and the programs that read its packages.
import { DatabaseSync } from 'node:sqlite';

export type Deck = { id: number; name: string };

const TABLES = `
CREATE TABLE col (id integer PRIMARY KEY, crt integer NOT NULL, mod integer NOT NULL, scm integer NOT NULL, ver integer NOT NULL,
  dty integer NOT NULL, usn integer NOT NULL, ls integer NOT NULL, conf text NOT NULL, models text NOT NULL, decks text NOT NULL,
  dconf text NOT NULL, tags text NOT NULL);
CREATE TABLE notes (id integer PRIMARY KEY, guid text NOT NULL, mid integer NOT NULL, mod integer NOT NULL, usn integer NOT NULL,
  tags text NOT NULL, flds text NOT NULL, sfld integer NOT NULL, csum integer NOT NULL, flags integer NOT NULL, data text NOT NULL);
CREATE TABLE cards (id integer PRIMARY KEY, nid integer NOT NULL, did integer NOT NULL, ord integer NOT NULL, mod integer NOT NULL,
  usn integer NOT NULL, type integer NOT NULL, queue integer NOT NULL, due integer NOT NULL, ivl integer NOT NULL,
  factor integer NOT NULL, reps integer NOT NULL, lapses integer NOT NULL, left integer NOT NULL, odue integer NOT NULL,
  odid integer NOT NULL, flags integer NOT NULL, data text NOT NULL);
CREATE TABLE revlog (id integer PRIMARY KEY, cid integer NOT NULL, usn integer NOT NULL, ease integer NOT NULL, ivl integer NOT NULL,
  lastIvl integer NOT NULL, factor integer NOT NULL, time integer NOT NULL, type integer NOT NULL);
CREATE TABLE graves (usn integer NOT NULL, oid integer NOT NULL, type integer NOT NULL);`;

/** Made when the rows are there, which is faster. */
const INDEXES = `
CREATE INDEX ix_notes_usn ON notes (usn); CREATE INDEX ix_notes_csum ON notes (csum);
CREATE INDEX ix_cards_usn ON cards (usn); CREATE INDEX ix_cards_nid ON cards (nid);
CREATE INDEX ix_cards_sched ON cards (did, queue, due);
CREATE INDEX ix_revlog_usn ON revlog (usn); CREATE INDEX ix_revlog_cid ON revlog (cid);`;

/** Of the one note type: two fields, one card. */
export const NOTE_TYPE_ID = 1_764_201_600_000;
export const ROLLOVER_HOUR = 4;
/** Without changes to send to a server. */
const USN = -1;

/** At `path`, with a transaction begun; `finishCollection` ends it. */
export function createCollection(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(
    `PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000; ${TABLES} BEGIN`,
  );
  return database;
}

/** Writes what describes the rows. Instants in milliseconds; `minutesWest` of UTC at the creation. */
export function finishCollection(
  database: DatabaseSync,
  {
    createdMs,
    nowMs,
    minutesWest,
    decks,
  }: { createdMs: number; nowMs: number; minutesWest: number; decks: readonly Deck[] },
): void {
  const nowSeconds = Math.floor(nowMs / 1000);
  const settings = {
    nextPos: 1,
    estTimes: true,
    activeDecks: [1],
    sortType: 'noteFld',
    timeLim: 0,
    sortBackwards: false,
    addToCur: true,
    curDeck: 1,
    newSpread: 0,
    dueCounts: true,
    curModel: `${NOTE_TYPE_ID}`,
    collapseTime: 1200,
    schedVer: 2,
    rollover: ROLLOVER_HOUR,
    creationOffset: minutesWest,
  };
  const json = [settings, noteTypes(), decksOf(decks, nowSeconds), OPTIONS, {}].map((each) =>
    JSON.stringify(each),
  );
  database
    .prepare('INSERT INTO col VALUES (1, ?, ?, ?, 11, 0, 0, 0, ?, ?, ?, ?, ?)')
    .run(Math.floor(createdMs / 1000), nowMs, nowMs, ...json);
  database.exec(`COMMIT; ${INDEXES}`);
  database.close();
}

function noteTypes() {
  const field = (name: string, ord: number) => ({
    name,
    ord,
    sticky: false,
    rtl: false,
    font: 'Arial',
    size: 20,
    media: [],
  });
  const card = {
    name: 'Card 1',
    ord: 0,
    qfmt: '{{Front}}',
    afmt: '{{Back}}',
    did: null,
    bqfmt: '',
    bafmt: '',
  };
  return {
    [NOTE_TYPE_ID]: {
      id: NOTE_TYPE_ID,
      name: 'Title and content',
      type: 0,
      // The same in each package: a newer one would undo what its user has changed in Anki.
      mod: NOTE_TYPE_ID / 1000,
      usn: USN,
      sortf: 0,
      did: 1,
      tmpls: [card],
      flds: [field('Front', 0), field('Back', 1)],
      css: '.card { font-family: arial; font-size: 20px; text-align: center; }',
      latexPre: '\\documentclass[12pt]{article}\n\\begin{document}\n',
      latexPost: '\\end{document}',
      tags: [],
      vers: [],
      req: [[0, 'all', [0]]],
    },
  };
}

function decksOf(decks: readonly Deck[], mod: number) {
  const none = [0, 0];
  const today = { newToday: none, revToday: none, lrnToday: none, timeToday: none };
  const rest = {
    ...today,
    conf: 1,
    usn: USN,
    desc: '',
    dyn: 0,
    collapsed: false,
    extendNew: 10,
    extendRev: 50,
  };
  return Object.fromEntries(decks.map(({ id, name }) => [id, { id, name, mod, ...rest }]));
}

/** The options of all decks, as Anki's own defaults. */
const OPTIONS = {
  1: {
    id: 1,
    name: 'Default',
    mod: 0,
    usn: 0,
    dyn: false,
    maxTaken: 60,
    timer: 0,
    autoplay: true,
    replayq: true,
    new: {
      bury: true,
      delays: [1, 10],
      initialFactor: 2500,
      ints: [1, 4, 7],
      order: 1,
      perDay: 20,
      separate: true,
    },
    rev: { bury: true, ease4: 1.3, fuzz: 0.05, ivlFct: 1, maxIvl: 36_500, minSpace: 1, perDay: 200 },
    lapse: { delays: [10], leechAction: 0, leechFails: 8, minInt: 1, mult: 0 },
  },
};
