// Writes databases as Mnemosyne does.
import { DatabaseSync } from 'node:sqlite';

type CardOfFile = {
  number: number;
  id?: string;
  question?: string;
  answer?: string;
  grade?: number;
  easiness?: number;
};
type Schedule = { next?: number; last?: number; passes?: number; active?: number };
type LogOfFile = {
  id: string;
  time: number;
  grade: number;
  easiness?: number;
  interval?: number;
  next?: number;
  passes?: number;
};

/** Times are in seconds. */
export function writeMnemosyne(
  path: string,
  {
    cards,
    log = [],
    tags = [],
    facts = [],
    sql = '',
  }: {
    cards: (CardOfFile & Schedule)[];
    log?: LogOfFile[];
    tags?: [card: number, name: string][];
    facts?: [fact: number, key: string, value: string][];
    /** Run at the end. */
    sql?: string;
  },
): string {
  const database = new DatabaseSync(path);
  // No test needs what a crash of the machine would keep.
  database.exec('PRAGMA synchronous = OFF');
  database.exec(`CREATE TABLE facts (_id integer PRIMARY KEY, id text);
    CREATE TABLE data_for_fact (_fact_id integer, key text, value text);
    CREATE TABLE cards (_id integer PRIMARY KEY, id text, _fact_id integer, question text, answer text, grade integer,
      next_rep integer, last_rep integer, easiness real, ret_reps_since_lapse integer, creation_time integer,
      modification_time integer, active boolean);
    CREATE TABLE tags (_id integer PRIMARY KEY, name text);
    CREATE TABLE tags_for_card (_card_id integer, _tag_id integer);
    CREATE TABLE log (_id integer PRIMARY KEY, event_type integer, timestamp integer, object_id text, grade integer,
      easiness real, ret_reps_since_lapse integer, scheduled_interval integer, next_rep integer)`);
  for (const {
    number,
    id = `c${number}`,
    question = 'q',
    answer = 'a',
    grade = -1,
    easiness = 2.5,
    ...rest
  } of cards) {
    const { next = -1, last = -1, passes = 0, active = 1 } = rest;
    database
      .prepare('INSERT INTO cards VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1700000000, 1700000000, ?)')
      .run(number, id, number, question, answer, grade, next, last, easiness, passes, active);
  }
  for (const { id, time, grade, easiness = 2.5, interval = 0, next = 0, passes = 0 } of log)
    database
      .prepare('INSERT INTO log VALUES (NULL, 9, ?, ?, ?, ?, ?, ?, ?)')
      .run(time, id, grade, easiness, passes, interval, next);
  for (const [index, [card, name]] of tags.entries()) {
    database.prepare('INSERT INTO tags VALUES (?, ?)').run(index + 1, name);
    database.prepare('INSERT INTO tags_for_card VALUES (?, ?)').run(card, index + 1);
  }
  for (const fact of facts) database.prepare('INSERT INTO data_for_fact VALUES (?, ?, ?)').run(...fact);
  database.exec(sql);
  database.close();
  return path;
}
