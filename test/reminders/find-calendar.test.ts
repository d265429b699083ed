// The calendar behind a secret: its owner's zone, forecast and earliest reminder, at one instant.
import { expect, test } from 'vitest';
import { createFindCalendar } from '../../services/reminders/channels/calendar/find-calendar.ts';

const asked: unknown[] = [];
const find = createFindCalendar({
  findFeedOwner: async (secret) =>
    ({
      ada: { userId: 'u1', earliestMinuteOfDay: 450 },
      gone: { userId: 'u2', earliestMinuteOfDay: undefined },
    })[secret],
  findTimeZone: async (userId) => (userId === 'u1' ? 'Asia/Tokyo' : undefined),
  readForecast: async (request) => {
    asked.push(request);
    return {
      overdue: 2,
      days: [
        { date: '2030-04-01', count: 1 },
        { date: '2030-04-02', count: 0 },
      ],
    };
  },
  now: () => new Date('2030-03-31T16:00:00Z'),
});

test('it tells the owner’s days, at the earliest reminder, with what is overdue today', async () => {
  const { text } = (await find('ada')) ?? expect.fail('not found');
  expect(text.match(/SUMMARY:.*/g)).toEqual(['SUMMARY:3 materials are due']);
  expect(text).toContain('DTSTART;TZID=Asia/Tokyo:20300401T073000\r\n');
  expect(asked).toEqual([
    { userId: 'u1', timeZone: 'Asia/Tokyo', days: 30, asOf: new Date('2030-03-31T16:00:00Z') },
  ]);
});

test('there is none for an unknown secret, nor for a user whom accounts no longer has', async () => {
  expect(await find('nobody')).toBeUndefined();
  expect(await find('gone')).toBeUndefined();
});
