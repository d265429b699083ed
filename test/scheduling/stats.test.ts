// Holds every figure against a recount of all rows, over random histories in zones with awkward clocks.
import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import { toTimestamp } from '../../services/platform/instants.ts';
import { type Given, test } from '../fixtures.ts';
import { newUserId, type TestScheduling } from '../support/scheduling.ts';
import { untilAvailable } from '../support/system.ts';
import { storeFacts } from './stats-facts.ts';
import * as recount from './stats-recount.ts';

test.beforeAll(takeServices);

describe('every figure equals a recount of all rows, over random histories', () => {
  test.each<[timeZone: string, instant: string]>(
    /** Near these instants clocks change, days are skipped, or midnight comes twice or never. */
    [
      ['UTC', '2024-02-29T23:59:59.999Z'],
      ['Europe/Berlin', '2026-03-29T01:00:00Z'],
      ['Europe/Berlin', '2026-10-25T01:00:00Z'],
      ['America/New_York', '2026-11-01T06:00:00Z'],
      ['America/Havana', '2026-11-01T05:00:00Z'],
      ['America/Sao_Paulo', '2018-11-04T03:00:00Z'],
      ['Asia/Beirut', '2026-03-28T22:00:00Z'],
      ['Pacific/Apia', '2011-12-30T10:00:00Z'],
      ['Asia/Kathmandu', '2026-06-01T18:15:00Z'],
      ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
      // PostgreSQL takes this name for an abbreviation and knows no summer time in it.
      ['CET', '2026-07-15T22:30:00Z'],
      // Abolished its clock changes in 2026, which time zone data of different age know or do not know.
      ['America/Edmonton', '2026-11-20T06:30:00Z'],
    ],
  )('in %s around %s', async (timeZone, instant) => {
    const around = Date.parse(instant);
    for (let seed = 1; seed <= 4; seed += 1) {
      const userId = newUserId();
      const facts = randomFacts(seed + around / 1000, around);
      await storeFacts(here.sql, userId, facts);
      // Up to two and a quarter hours before the instant, and as long after it.
      const asOf = around + (seed - 2.5) * 5_400_000;
      const window = { timeZone, asOf, days: [1, 7, 30, 366][seed % 4] ?? 30 };
      const request = {
        userId,
        window: { timeZone, asOfTime: toTimestamp(new Date(asOf)), days: window.days },
      };
      const context = `seed ${seed}, ${JSON.stringify(window)}`;
      const [forecast, activity, retention, distributions, hardest] = await untilAvailable(() =>
        Promise.all([
          here.stats.getForecast(request),
          here.stats.getActivity(request),
          here.stats.getRetention(request),
          here.stats.getDistributions(request),
          readHardest(request, 2),
        ]),
      );
      expect(forecast, context).toEqual(recount.forecast(facts, window));
      expect(activity, context).toEqual(recount.activity(facts, window));
      expect(retention, context).toEqual(recount.retention(facts, window));
      expect(distributions, context).toEqual(recount.distributions(facts, window));
      expect(hardest, context).toEqual(recount.hardest(facts, window, 2));
    }
  });

  async function readHardest(
    request: Parameters<typeof here.stats.listHardestMaterials>[0],
    minReviews: number,
  ) {
    const read: unknown[] = [];
    for (let pageToken = ''; ; ) {
      const page = await here.stats.listHardestMaterials({ ...request, minReviews, pageSize: 8, pageToken });
      read.push(
        ...page.materials.map(({ material, count }) => ({ materialId: material?.materialId, count })),
      );
      if (page.nextPageToken === '') return read;
      pageToken = page.nextPageToken;
    }
  }
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}

const DAY_MS = 86_400_000;

/** A small generator of numbers from a seed, so that a failure can be had again. */
function numbers(seed: number) {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function randomFacts(seed: number, around: number): recount.Facts {
  const pick = numbers(seed);
  const near = () =>
    around + (pick(2) === 0 ? pick(4 * DAY_MS) - 2 * DAY_MS : pick(60 * DAY_MS) - 50 * DAY_MS);
  const materials = Array.from({ length: 12 }, () => ({
    materialId: randomUUID(),
    easeFactorHundredths: 130 + pick(180),
    intervalDays: [0, 1, 6, 7, 20, 21, 89, 90, 400][pick(9)] ?? 0,
    nextReviewTime: pick(6) === 0 ? null : near() + pick(20) * DAY_MS,
    isArchived: pick(5) === 0,
  }));
  const reviews = Array.from({ length: pick(120) }, () => ({
    materialId: materials[pick(materials.length)]?.materialId ?? '',
    time: near(),
    quality: pick(6),
    beforeIntervalDays: [0, 1, 6, 7, 20, 21, 89, 90, 400][pick(9)] ?? 0,
  }));
  return { materials, reviews };
}
