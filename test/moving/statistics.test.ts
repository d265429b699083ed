// Statistics after an import, against a recount of the rows of the file.
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { unpackCollection } from '../../services/moving/anki/package.ts';
import { toTimestamp } from '../../services/platform/instants.ts';
import { test } from '../fixtures.ts';
import { CREATED_SECONDS, writePackage } from '../support/anki-files.ts';
import { importAll } from '../support/imports.ts';
import { NOW_MS, ownFolder, readFileOf } from '../support/moving.ts';
import type { TestScheduling } from '../support/scheduling.ts';

test('of cards of every kind and rows of every kind are those of the file', async ({
  scheduling,
  userId,
}) => {
  const next = numbers(7);
  const cards = Array.from({ length: 300 }, (_, index) => ({
    id: index + 1,
    nid: index + 1,
    type: next(4) === 0 ? 0 : 2,
    queue: [2, 2, 2, -1, -2][next(5)] ?? 2,
    due: 2200 + next(400),
    ivl: next(150),
    factor: 1300 + next(1500),
  }));
  // The last 20 are deleted; factor 0 is of practice, learning or a reset.
  const log = Array.from({ length: 4000 }, (_, index) => ({
    id: NOW_MS - index * 150 * 60_000 - next(9_000_000),
    cid: 1 + next(320),
    ease: next(5),
    ivl: next(200) - 50,
    lastIvl: next(200) - 50,
    factor: next(3) === 0 ? 0 : 1300 + next(1500),
    type: next(5),
  }));
  const distinct = [...new Map(log.map((row) => [row.id, row])).values()];
  const notes = cards.map(({ id }) => ({ id }));
  const path = await writePackage(folder.path(), 3, { notes, cards, log: distinct });
  const { counted, recounted } = await compare(scheduling, userId, path);
  expect(recounted.reviews).toBeGreaterThan(1000);
  expect(counted).toEqual(recounted);
  const forecast = await scheduling.stats.getForecast({ userId, window: windowAt(NOW_MS) });
  expect(forecast).toEqual(forecastOf(cards));
});

const fixtures = process.env.FIXTURES ?? join(import.meta.dirname, '../../../shared/fixtures');

test
  .skipIf(!existsSync(fixtures))
  .for(['anki/mnemosyne-anki1.apkg', 'anki/templates.apkg', 'anki/version3-19-cards.apkg'])(
  'of %s are those of the file',
  async (file, { scheduling, userId }) => {
    const { counted, recounted } = await compare(scheduling, userId, join(fixtures, file));
    expect(counted).toEqual(recounted);
  },
);

const folder = ownFolder();
const DAYS = 366;
const DAY_MS = 86_400_000;
const TIME_ZONE = 'America/New_York';
/** The longest interval of each band, in days. */
const BANDS = [0, 6, 20, 89, Number.POSITIVE_INFINITY];

/** What scheduling counts of the imported file up to its latest review, and what the file holds. */
async function compare(scheduling: TestScheduling, userId: string, path: string) {
  const { records } = await readFileOf(path, { timeZone: TIME_ZONE });
  await importAll(scheduling, userId, records);
  const unpacked = await unpackCollection(path, await mkdtemp(join(folder.path(), 'recount-')));
  const rows = rowsOf(unpacked.path);
  const asOfMs = Math.max(...rows.reviews.map(({ id }) => id), CREATED_SECONDS * 1000);
  return {
    counted: await count(scheduling, userId, asOfMs),
    recounted: recount(rows, asOfMs),
  };
}

const windowAt = (asOfMs: number) => ({
  timeZone: TIME_ZONE,
  days: DAYS,
  asOfTime: toTimestamp(new Date(asOfMs)),
});

async function count({ stats }: TestScheduling, userId: string, asOfMs: number) {
  const asked = { userId, window: windowAt(asOfMs) };
  const { days } = await stats.getActivity(asked);
  const { total, bands } = await stats.getRetention(asked);
  const { intervals } = await stats.getDistributions(asked);
  return {
    reviews: total?.reviews,
    recalled: total?.recalled,
    bands: bands.map(({ count: of }) => [of?.reviews, of?.recalled]),
    days: days.filter((day) => day.count > 0),
    intervals: intervals.map((band) => band.count),
  };
}

type Rows = { reviews: { id: number; ease: number; lastIvl: number }[]; intervals: number[] };

/** Answers of cards that are there, and intervals of cards that are not suspended. */
function rowsOf(path: string): Rows {
  const database = new DatabaseSync(path);
  try {
    const reviews = database.prepare(
      `SELECT r.id, r.ease, r.lastIvl FROM revlog r JOIN cards c ON c.id = r.cid JOIN notes n ON n.id = c.nid
       WHERE r.ease BETWEEN 1 AND 4 AND NOT (r.type IN (3, 4) AND r.factor = 0)`,
    );
    const intervals = database.prepare(
      'SELECT max(CASE c.type WHEN 0 THEN 0 ELSE c.ivl END, 0) AS days FROM cards c JOIN notes n ON n.id = c.nid WHERE c.queue <> -1',
    );
    return {
      reviews: reviews.all() as Rows['reviews'],
      intervals: intervals.all().map(({ days }) => Number(days)),
    };
  } finally {
    database.close();
  }
}

function recount({ reviews, intervals }: Rows, asOfMs: number) {
  const today = dateOf(asOfMs);
  const first = new Date(Date.parse(today) - (DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
  const inWindow = reviews.filter(({ id }) => dateOf(id) >= first);
  const recalledOf = (rows: Rows['reviews']) => rows.filter(({ ease }) => ease > 1).length;
  const byBand = BANDS.map((_, band) => inWindow.filter(({ lastIvl }) => bandOf(lastIvl) === band));
  const byDay = Map.groupBy(inWindow, ({ id }) => dateOf(id));
  return {
    reviews: inWindow.length,
    recalled: recalledOf(inWindow),
    bands: byBand.map((rows) => [rows.length, recalledOf(rows)]),
    days: [...byDay.keys()].sort().map((date) => ({ date, count: byDay.get(date)?.length })),
    intervals: BANDS.map((_, band) => intervals.filter((days) => bandOf(days) === band).length),
  };
}

const bandOf = (days: number) => BANDS.findIndex((upTo) => days <= upTo);

const dateFormat = new Intl.DateTimeFormat('en-CA', { timeZone: TIME_ZONE });
const dateOf = (ms: number) => dateFormat.format(ms);

/** Of due dates, as day numbers since the collection was made: on 2019-12-31 in New York. New cards are due at once. */
function forecastOf(cards: readonly { type: number; queue: number; due: number }[]) {
  const active = cards.filter(({ queue }) => queue !== -1);
  const today = Date.parse(dateOf(NOW_MS));
  const dueDays = active.map(({ type, due }) =>
    type === 0 ? 0 : (Date.parse('2019-12-31') + due * DAY_MS - today) / DAY_MS,
  );
  return {
    overdue: dueDays.filter((day) => day < 0).length,
    dueNow: dueDays.filter((day) => day <= 0).length,
    days: Array.from({ length: DAYS }, (_, index) => ({
      date: new Date(today + index * DAY_MS).toISOString().slice(0, 10),
      count: dueDays.filter((day) => day === index).length,
    })),
  };
}

/** Numbers from 0 below `end`, the same in each run. */
function numbers(seed: number): (end: number) => number {
  let state = seed;
  return (end) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * end);
  };
}
