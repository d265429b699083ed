// Every combination of state, type and due state, in each order and in a search, against a filter over what there is.
import { describe, expect } from 'vitest';
import type { ListMaterialsRequestInput } from '../../generated/scheduling/v1/ListMaterialsRequest.ts';
import { type Given, test } from '../fixtures.ts';
import { newUserId, type TestScheduling } from '../support/scheduling.ts';

const TYPES = ['SIMPLE', 'MATERIAL', 'FLASHCARD', 'CARD'] as const;

test.beforeAll(prepare);

// A full page is found among the newest, without the index that finds the rest.
describe('the first of a search', () => {
  test.each(combinations())('$request.state, $request.due, $request.type', async ({ request, isListed }) => {
    const { materials } = await here.materials.listMaterials({ userId, pageSize: 1, query: 'e', ...request });
    expect(all.filter(isListed).map(({ title }) => title)).toContain(materials[0]?.title);
  });
});

describe.each([
  ['the newest first', {}],
  ['the next review first', { order: 'MATERIAL_ORDER_NEXT_REVIEW' }],
  ['the last review first', { order: 'MATERIAL_ORDER_LAST_REVIEW' }],
  ['the lowest ease first', { order: 'MATERIAL_ORDER_EASE' }],
  ['a search for a letter of all titles', { query: 'e' }],
] as const)('%s', (_name, how) => {
  test.each(combinations())('$request.state, $request.due, $request.type', async ({ request, isListed }) => {
    const asked = { userId, pageSize: 100, ...how, ...request };
    const { materials } = await here.materials.listMaterials(asked);
    const expected = all.filter(isListed);
    expect(materials.map(({ title }) => title).toSorted()).toEqual(
      expected.map(({ title }) => title).toSorted(),
    );
  });
});

const NOW = '2026-05-03T12:00:00Z';

const userId = newUserId();
const all: Made[] = [];
let here: TestScheduling;

async function prepare({ scheduling }: Given<'scheduling'>): Promise<void> {
  here = scheduling;
  here.setClock('2026-05-01T12:00:00Z');
  for (const type of TYPES) {
    for (const [when, time] of Object.entries(REVIEWS)) {
      for (const isArchived of [false, true]) {
        const title = `${type} ${when}${isArchived ? ' archived' : ''}`;
        const request = { userId, title, type: `MATERIAL_TYPE_${type}` } as const;
        const { material } = await here.materials.createMaterial(request);
        const materialId = material?.materialId ?? '';
        if (time !== undefined) {
          here.setClock(time);
          await here.reviews.submitReview({ userId, materialId, quality: 5 });
          here.setClock('2026-05-01T12:00:00Z');
        }
        if (isArchived) await here.materials.archiveMaterial({ userId, materialId });
        all.push({ title, type, isDue: when !== 'later', isArchived });
      }
    }
  }
  here.setClock(NOW);
}

/** When a material was reviewed for the first time: it is due a day later. */
const REVIEWS = {
  new: undefined,
  'due this millisecond': '2026-05-02T12:00:00Z',
  later: '2026-05-02T12:00:01Z',
};
type Made = { title: string; type: string; isDue: boolean; isArchived: boolean };

/** Of each state, each due state and each type, also of none. */
function combinations() {
  const states = {
    MATERIAL_STATE_UNSPECIFIED: ({ isArchived }: Made) => !isArchived,
    MATERIAL_STATE_ACTIVE: ({ isArchived }: Made) => !isArchived,
    MATERIAL_STATE_ARCHIVED: ({ isArchived }: Made) => isArchived,
    MATERIAL_STATE_ANY: () => true,
  };
  const dues = {
    DUE_STATE_UNSPECIFIED: () => true,
    DUE_STATE_DUE: ({ isDue }: Made) => isDue,
    DUE_STATE_NOT_DUE: ({ isDue }: Made) => !isDue,
  };
  return Object.entries(states).flatMap(([state, isOfState]) =>
    Object.entries(dues).flatMap(([due, isOfDue]) =>
      ['UNSPECIFIED', ...TYPES].map((type) => ({
        request: { state, due, type: `MATERIAL_TYPE_${type}` } as ListMaterialsRequestInput,
        isListed: (made: Made) =>
          isOfState(made) && isOfDue(made) && (type === 'UNSPECIFIED' || made.type === type),
      })),
    ),
  );
}
