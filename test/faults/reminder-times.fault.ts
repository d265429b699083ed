// Promise: a reminder comes when the user's wall clock says so, in every time zone, from 2000 to 2040.
import { expect, test } from 'vitest';
import { compareWithZoneinfo, hasZoneinfo } from '../reminders/zone-oracle.ts';
import { ROUNDS } from './support/rounds.ts';

/** The short form looks at each change of clocks, and at a tenth of the other days. */
const SAMPLE_DAYS = ROUNDS < 20 ? 310 : 31;

/**
 * Rules that the time zone database changed after 2025b and until 2026f, both of which Debian 12 has had: what Node and Python know of these
 * depends on the age of their copies.
 */
const CHANGED = [
  'Africa/Casablanca',
  'Africa/El_Aaiun',
  'America/Edmonton',
  'America/Havana',
  'America/Inuvik',
  'America/Rainy_River',
  'America/Vancouver',
  'America/Winnipeg',
  'America/Yellowknife',
  'Canada/Central',
  'Canada/Mountain',
  'Canada/Pacific',
  'Cuba',
  'Europe/Chisinau',
  'Europe/Tiraspol',
];

test.skipIf(!hasZoneinfo)(
  `in every time zone, near every change of clocks and on one day in ${SAMPLE_DAYS} of 2000 to 2040, it is when Python says`,
  async () => {
    const found = await compareWithZoneinfo({
      firstYear: 2000,
      lastYear: 2040,
      sampleDays: SAMPLE_DAYS,
      reachDays: 1,
    });
    const differing = [...found.differences.keys()];
    process.stdout.write(
      `${found.compared} occurrences in ${found.zones} zones; other rules here: ${differing.join(', ')}\n`,
    );
    expect(differing.filter((zone) => !CHANGED.includes(zone))).toEqual([]);
    expect(found.compared).toBeGreaterThan(ROUNDS < 20 ? 450_000 : 1_700_000);
  },
);
