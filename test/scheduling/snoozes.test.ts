// Until when a snooze puts off, what it answers and lists, and what a request for one may hold.
import { expect } from 'vitest';
import { test as base, type Given } from '../fixtures.ts';
import { at, refusal } from '../support/scheduling.ts';
import { untilAvailable } from '../support/system.ts';

const test = base.extend('snooze', snooze);

test.beforeEach(({ scheduling }) => scheduling.setClock(NOW));

// In New York it is five in the morning.
const timeZone = 'America/New_York';

test.for<[string, object, string]>([
  ['an hour', { preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone }, '2026-12-07T11:00:00Z'],
  ['tonight', { preset: 'SNOOZE_PRESET_TONIGHT', timeZone }, '2026-12-08T01:00:00Z'],
  ['tomorrow', { preset: 'SNOOZE_PRESET_TOMORROW', timeZone }, '2026-12-08T14:00:00Z'],
  ['an instant', { snoozeUntilTime: at('2026-12-07T10:00:01Z') }, '2026-12-07T10:00:01Z'],
  [
    'an instant that stands beside a preset',
    { snoozeUntilTime: at('2026-12-09T10:00:00Z'), preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone },
    '2026-12-09T10:00:00Z',
  ],
])(
  'a snooze until %s answers what the material and the list then say',
  async ([, request, until], { scheduling, material, snooze }) => {
    const answered = await snooze({ ...request, reason: 'tired' });
    expect(answered).toEqual({
      snoozeId: answered?.snoozeId,
      materialIds: [material.materialId],
      snoozeUntilTime: at(until),
      reason: 'tired',
      createTime: at(NOW),
      actor: 'gateway/olga',
      apiKeyId: '',
      requestId: 'test',
      cancelTime: null,
      cancellableMaterials: 1,
      movedMaterials: 1,
      materialCount: 1,
      spreadDays: 0,
    });
    const found = await scheduling.materials.getMaterial(material);
    expect(found.material).toMatchObject({ nextReviewTime: at(until), updateTime: at(NOW), revision: 1 });
    const { snoozes } = await scheduling.snoozes.listSnoozes({ userId: material.userId });
    expect(snoozes).toEqual([answered]);
  },
);

test('a snooze that ends before the next review leaves its time, and says so', async ({
  scheduling,
  material,
  snooze,
}) => {
  await scheduling.reviews.submitReview({ ...material, quality: 4 });
  const answered = await snooze({ preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone });
  const found = await scheduling.materials.getMaterial(material);
  expect(found.material).toMatchObject({ nextReviewTime: at('2026-12-08T10:00:00Z'), revision: 2 });
  const { snoozes } = await scheduling.snoozes.listSnoozes({ userId: material.userId });
  expect(snoozes).toEqual([answered]);
  expect(answered?.movedMaterials).toBe(0);
});

test('a snooze moves a material without a time, as it answers and the list then says', async ({
  scheduling,
  material,
  snooze,
}) => {
  const untimed = 'UPDATE scheduling.materials SET next_review_time = NULL WHERE user_id = $1';
  await scheduling.sql.query(untimed, [material.userId]);
  const answered = await snooze({ preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone });
  expect(answered?.movedMaterials).toBe(1);
  const { snoozes } = await scheduling.snoozes.listSnoozes({ userId: material.userId });
  expect(snoozes).toEqual([answered]);
});

test('a reason has at most 500 characters, whatever their size, and no U+0000', async ({ snooze }) => {
  const preset = { preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone };
  const reason = '🙂'.repeat(500);
  expect((await snooze({ ...preset, reason }))?.reason).toBe(reason);
  for (const wrong of [`${reason}x`, 'x'.repeat(501), 'a\0'])
    expect(await refusal(snooze({ ...preset, reason: wrong }))).toBe('INVALID_REQUEST reason');
});

test('a snooze needs an instant after now or a preset with a time zone, and whatever is given must be sound', async ({
  scheduling,
  material,
  snooze,
}) => {
  const [instant, preset] = [at('2026-12-09T10:00:00Z'), 'SNOOZE_PRESET_ONE_HOUR'];
  const refused = (request: object) => refusal(snooze(request));
  expect(await refused({})).toBe('INVALID_REQUEST snooze_until_time');
  expect(await refused({ timeZone })).toBe('INVALID_REQUEST snooze_until_time');
  expect(await refused({ snoozeUntilTime: at(NOW) })).toBe('INVALID_REQUEST snooze_until_time');
  expect(await refused({ snoozeUntilTime: at(NOW), preset, timeZone })).toBe(
    'INVALID_REQUEST snooze_until_time',
  );
  expect(await refused({ preset })).toBe('INVALID_REQUEST time_zone');
  expect(await refused({ snoozeUntilTime: instant, preset, timeZone: 'Mars/Olympus' })).toBe(
    'INVALID_REQUEST time_zone',
  );
  expect(await refused({ snoozeUntilTime: instant, preset: 9, timeZone })).toBe('INVALID_REQUEST preset');
  expect(await refused({ userId: 'x', snoozeUntilTime: instant })).toBe('INVALID_REQUEST user_id');
  expect(await refused({ snoozeUntilTime: instant, requestId: 'x'.repeat(256) })).toBe(
    'INVALID_REQUEST request_id',
  );
  const found = await scheduling.materials.getMaterial(material);
  expect(found.material).toMatchObject({ nextReviewTime: at(NOW), revision: 0 });
});

test('eight snoozes of a material at the same moment are all made', async ({
  scheduling,
  material,
  snooze,
}) => {
  const request = { preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone };
  const made = await Promise.all(Array.from({ length: 8 }, () => untilAvailable(() => snooze(request))));
  expect(new Set(made.map((each) => each?.snoozeId)).size).toBe(8);
  const found = await scheduling.materials.getMaterial(material);
  expect(found.material?.revision).toBe(8);
});

const NOW = '2026-12-07T10:00:00Z';

function snooze({ scheduling, material }: Given<'scheduling' | 'material'>) {
  const { userId, materialId } = material;
  return async (request: object) => {
    const asked = { userId, materialIds: [materialId], ...request };
    return (await scheduling.snoozes.snoozeMaterials(asked, { caller: 'gateway/olga' })).snooze;
  };
}
