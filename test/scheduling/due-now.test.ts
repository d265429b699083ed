// The millisecond at which a material becomes due: due from then on, in every list and count, and not before.
import { expect } from 'vitest';
import { isDue, toOptionalTime } from '../../gateway/mapper.ts';
import { toTimestamp } from '../../services/platform/instants.ts';
import { type Given, test } from '../fixtures.ts';
import { newUserId, type TestScheduling } from '../support/scheduling.ts';

test.beforeAll(prepare);

test.each(
  Object.entries<() => Promise<number | undefined>>(
    /** How many materials each says are due. */
    {
      'the list of what is due': async () => count(await here.materials.listDueMaterials({ userId })),
      'the filter of a list': async () => count(await here.materials.listMaterials(due)),
      'the filter of what is not due, turned': async () =>
        1 - count(await here.materials.listMaterials(notDue)),
      'the filter of a search': async () =>
        count(await here.materials.listMaterials({ ...due, query: 'quokka' })),
      'the filter of a search for what is not due, turned': async () =>
        1 - count(await here.materials.listMaterials({ ...notDue, query: 'quokka' })),
      'a list of what is due that is read with a neighbour’s': async () => {
        const both = [{ userId: neighbourId }, { userId }];
        const lists = await Promise.all(both.map((request) => here.materials.listDueMaterials(request)));
        return lists[1]?.materials.length;
      },
      'the gateway’s isDue': async () => {
        const { materials } = await here.materials.listMaterials({ userId });
        const times = materials.map(({ nextReviewTime }) => toOptionalTime(nextReviewTime));
        return times.filter((time) => isDue(time, here.now().getTime())).length;
      },
      'the count of what is due': async () => (await here.materials.countMaterials({ userId })).due,
      'the forecast': async () => (await here.stats.getForecast({ userId, window })).dueNow,
    },
  ),
)('%s holds it from the millisecond on', async (_, countDue) => {
  here.setClock(BEFORE);
  expect(await countDue()).toBe(0);
  here.setClock(NOW);
  expect(await countDue()).toBe(1);
});

test('without a next review it is due, in the list as in the gateway', async () => {
  const ownerId = newUserId();
  const materialId = await here.create(ownerId);
  await here.sql.query('UPDATE scheduling.materials SET next_review_time = NULL WHERE user_id = $1', [
    ownerId,
  ]);
  const { materials } = await here.materials.listDueMaterials({ userId: ownerId });
  expect(materials.map((material) => material.materialId)).toEqual([materialId]);
  expect(isDue(toOptionalTime(materials[0]?.nextReviewTime ?? null), 0)).toBe(true);
});

test('the forecast takes for overdue what was due before the day began, by the millisecond', async () => {
  const asOfTime = toTimestamp(new Date('2030-01-02T06:00:00Z'));
  // It becomes due at midnight in Kamchatka, and at 21:00 of the day before in Tokyo.
  const ofDay = async (timeZone: string) => {
    const { overdue, dueNow, days } = await here.stats.getForecast({
      userId,
      window: { timeZone, days: 1, asOfTime },
    });
    return { overdue, dueNow, today: days[0]?.count };
  };
  expect(await ofDay('Asia/Kamchatka')).toEqual({ overdue: 0, dueNow: 1, today: 1 });
  expect(await ofDay('Asia/Tokyo')).toEqual({ overdue: 1, dueNow: 1, today: 0 });
});

const BEFORE = '2030-01-01T11:59:59.999Z';
const NOW = '2030-01-01T12:00:00Z';

let here: TestScheduling;
const userId = newUserId();
const neighbourId = newUserId();

async function prepare({ scheduling }: Given<'scheduling'>): Promise<void> {
  here = scheduling;
  here.setClock('2030-01-01T00:00:00Z');
  for (const owner of [userId, neighbourId]) {
    const materialId = await here.create(owner, 'quokka');
    const snoozeUntilTime = toTimestamp(new Date(NOW));
    await here.snoozes.snoozeMaterials({ userId: owner, materialIds: [materialId], snoozeUntilTime });
  }
}

const due = { userId, due: 'DUE_STATE_DUE' } as const;
const notDue = { userId, due: 'DUE_STATE_NOT_DUE' } as const;
const window = { timeZone: 'UTC', days: 1 };

const count = ({ materials }: { materials: unknown[] }) => materials.length;
