// Collections to import, imports of them, and exports.
import type { ExportUserDataResponse } from '../../generated/scheduling/v1/ExportUserDataResponse.ts';
import type { ImportUserDataRequestInput } from '../../generated/scheduling/v1/ImportUserDataRequest.ts';
import type { ImportUserDataResponse } from '../../generated/scheduling/v1/ImportUserDataResponse.ts';
import type { MaterialRecordInput } from '../../generated/scheduling/v1/MaterialRecord.ts';
import type { ReviewInput } from '../../generated/scheduling/v1/Review.ts';
import { at, CALL, type SchedulingClients } from './scheduling.ts';

/** A review of another program: grade, day and, where it knows, the interval before in days. */
export const past = (
  reviewId: string,
  quality: number,
  time: string,
  intervalDays?: number,
): ReviewInput => ({
  reviewId,
  quality,
  reviewTime: at(time),
  ...(intervalDays !== undefined && { before: { easeFactor: 2.5, intervalDays, repetitions: 1 } }),
});

/** A card of another program, due in 2030 after ten days. */
export const card = (
  source: string,
  { reviews = [], ...fields }: MaterialRecordInput['material'] & { reviews?: ReviewInput[] } = {},
): MaterialRecordInput => ({
  source,
  material: {
    title: `Card ${source}`,
    content: 'Back',
    type: 'MATERIAL_TYPE_FLASHCARD',
    easeFactor: 2.36,
    intervalDays: 10,
    repetitions: 2,
    labels: ['Spanish/Verbs'],
    createTime: at('2020-01-01T00:00:00Z'),
    updateTime: at('2021-01-01T00:00:00Z'),
    nextReviewTime: at('2030-01-11T00:00:00Z'),
    lastReviewedTime: at('2030-01-01T00:00:00Z'),
    ...fields,
  },
  reviews,
});

export async function importAll(
  { userData }: Pick<SchedulingClients, 'userData'>,
  userId: string,
  materials: readonly MaterialRecordInput[],
  {
    dryRun = false,
    settings = [],
  }: { dryRun?: boolean; settings?: ImportUserDataRequestInput['settings'] } = {},
): Promise<ImportUserDataResponse> {
  const messages: ImportUserDataRequestInput[] = [{ options: { userId, dryRun } }];
  if (settings.length > 0) messages.push({ settings });
  return userData.importUserData([...messages, ...materials.map((each) => ({ materials: [each] }))], CALL);
}

/** "new 1, unchanged 2" of the materials and of the reviews, and the kinds of problems. */
export function shown({ materials, reviews, problems }: ImportUserDataResponse): string[] {
  const counts = (of: object | null) =>
    Object.entries(of ?? {})
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  const kinds = problems.map(({ kind, count }) => `${kind.replace('IMPORT_PROBLEM_KIND_', '')} ${count}`);
  return [counts(materials), counts(reviews), ...kinds];
}

export async function exportWhole(
  { userData }: Pick<SchedulingClients, 'userData'>,
  userId: string,
): Promise<ExportUserDataResponse[]> {
  const messages: ExportUserDataResponse[] = [];
  for await (const message of userData.exportUserData({ userId, whole: true }, CALL)) messages.push(message);
  return messages;
}
