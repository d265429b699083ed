// Promise: a reminder comes when the user's wall clock says so, in every time zone, from 2000 to 2040.
import { expect, test } from 'vitest';
import { compareWithZoneinfo, hasZoneinfo } from '../reminders/zone-oracle.ts';

test.skipIf(!hasZoneinfo)(
  'in every time zone, near every change of clocks and on every 31st day of 2000 to 2040, it is when Python says',
  async () => {
    const found = await compareWithZoneinfo({
      firstYear: 2000,
      lastYear: 2040,
      sampleDays: 31,
      reachDays: 1,
    });
    process.stdout.write(`${found.compared} occurrences in ${found.zones} zones\n`);
    expect(Object.fromEntries(found.differences)).toEqual({});
  },
);
