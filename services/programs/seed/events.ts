// Gives a learner what a timeline shows beside reviews: a snooze, and what operators did.
import type { UserEvent } from '../../accounts/events/sql.ts';
import { type Snooze, type SnoozedMaterial, snoozedNextReviewTime } from '../../scheduling/snoozes/rules.ts';
import type { LearnerMaterial } from './learner.ts';

export type PastEvents = {
  /** With the effects of the others. */
  materials: LearnerMaterial[];
  snoozes: { snooze: Snooze; material: SnoozedMaterial }[];
  userEvents: UserEvent[];
};

const DAY_MS = 86_400_000;
/** Learners with fewer keep all of their materials as they are. */
const MIN_MATERIALS = 10;
const OPERATORS = ['gateway/olga', 'gateway/sam'];

/** The learner snoozes the first material until tomorrow; operators archive the second and change the account. */
export function makePastEvents(
  { userId, createTime, materials }: { userId: string; createTime: Date; materials: LearnerMaterial[] },
  { now, newId }: { now: Date; newId: (time: Date) => string },
): PastEvents {
  const [snoozed, archived, ...others] = materials;
  if (snoozed === undefined || archived === undefined || materials.length < MIN_MATERIALS)
    return { materials, snoozes: [], userEvents: [] };
  const between = (from: Date) =>
    new Date(from.getTime() + Math.floor(Math.random() * (now.getTime() - from.getTime())));
  const byOperator = (eventTime: Date, action: string, subjectIds: string[]): UserEvent => ({
    ...{ userId, eventTime, eventId: newId(eventTime), action, subjectIds },
    ...{ actor: OPERATORS[Math.floor(Math.random() * OPERATORS.length)] ?? '', requestId: newId(eventTime) },
    ...{ isOfKey: false, isOfPerson: true },
  });
  const snoozeTime = between(latest(snoozed.material.updateTime, new Date(now.getTime() - DAY_MS / 4)));
  const archiveTime = between(latest(archived.material.updateTime, new Date(now.getTime() - 20 * DAY_MS)));
  const changeTime = between(latest(createTime, new Date(now.getTime() - 60 * DAY_MS)));
  const snooze = snoozeOf(snoozed, snoozeTime, new Date(now.getTime() + DAY_MS), newId);
  const revision = archived.material.revision + 1;
  const material = { ...archived.material, archiveTime, updateTime: archiveTime, revision };
  return {
    materials: [snooze.after, { ...archived, material }, ...others],
    snoozes: [snooze],
    userEvents: [
      byOperator(archiveTime, 'archiveMaterial', [material.materialId]),
      byOperator(changeTime, 'updateUser', []),
    ],
  };
}

function snoozeOf(
  of: LearnerMaterial,
  createTime: Date,
  snoozeUntilTime: Date,
  newId: (time: Date) => string,
) {
  const { materialId, nextReviewTime, revision } = of.material;
  const afterNextReviewTime = snoozedNextReviewTime(nextReviewTime, snoozeUntilTime, createTime);
  const after = { nextReviewTime: afterNextReviewTime, revision: revision + 1, updateTime: createTime };
  return {
    snooze: {
      ...{ snoozeId: newId(createTime), snoozeUntilTime, reason: 'Not today', createTime },
      ...{ actor: 'rest', requestId: newId(createTime) },
    },
    material: {
      ...{ materialId, revision: revision + 1 },
      ...{ beforeNextReviewTime: nextReviewTime, afterNextReviewTime },
    },
    after: { ...of, material: { ...of.material, ...after } },
  };
}

const latest = (a: Date, b: Date) => (a > b ? a : b);
