// Users with materials of every kind that a list tells apart.
import { CALL, newUserId, type TestScheduling } from '../../support/scheduling.ts';

/** Of each user how many materials, and which of them, counted from 0, have a text of more than 4,096 bytes. */
const LIBRARIES: { materials: number; long: number[] }[] = [
  { materials: 0, long: [] },
  { materials: 1, long: [] },
  { materials: 7, long: [] },
  { materials: 12, long: [] },
  { materials: 9, long: [2, 8] },
  { materials: 3, long: [0, 1, 2] },
];
const LATER = { seconds: Date.parse('2027-01-01T00:00:00Z') / 1000, nanos: 0 };

/** The ids of six users. */
export async function makeLibraries(here: TestScheduling): Promise<string[]> {
  const userIds: string[] = [];
  for (const { materials, long } of LIBRARIES) {
    const userId = newUserId();
    for (let index = 0; index < materials; index += 1) await add(here, userId, index, long.includes(index));
    userIds.push(userId);
  }
  return userIds;
}

/** With texts and without, cards and flashcards, reviewed and not, put off until later, archived. */
async function add(here: TestScheduling, userId: string, index: number, isLong: boolean): Promise<void> {
  const content = isLong ? 'é'.repeat(2049) : index % 3 === 0 ? 'é'.repeat(2048) : undefined;
  const type = index % 2 === 0 ? 'MATERIAL_TYPE_CARD' : 'MATERIAL_TYPE_FLASHCARD';
  const { material } = await here.materials.createMaterial(
    { userId, title: `Title ${index}`, type, ...(content !== undefined && { content }) },
    CALL,
  );
  const materialId = material?.materialId ?? '';
  if (index % 4 === 1) await here.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
  if (index % 5 === 2)
    await here.snoozes.snoozeMaterials({ userId, materialIds: [materialId], snoozeUntilTime: LATER }, CALL);
  if (index % 6 === 5) await here.materials.archiveMaterial({ userId, materialId }, CALL);
}
