// The two trips of a review to the database, each made together with those of other reviews at the same moment.
import { toError } from '../../platform/batched-lists.ts';
import { coalesce } from '../../platform/coalesce.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Queryable } from '../../platform/postgres.ts';
import type { Material } from '../domain/material.ts';
import { findMaterial } from '../repositories/materials-repository.ts';
import {
  applyReviewsOfUsers,
  findMaterialsOfUsers,
  type MaterialOfUser,
  type ReviewOfUser,
} from '../repositories/reviews-of-users-repository.ts';
import { applyReviewIfCurrent } from '../repositories/reviews-repository.ts';

export type ReviewTrips = {
  find(asked: MaterialOfUser): Promise<Material | undefined>;
  /** @returns false, and nothing is written, where the material has changed since, is gone, or is being changed. */
  apply(review: ReviewOfUser): Promise<boolean>;
};

const MAX_REVIEWS = 16;

/** `isDistributed`: the users' rows lie on different nodes, so that each review goes by itself to the one that has them. */
export function createReviewTrips(database: Queryable, isDistributed: boolean): ReviewTrips {
  const find = ({ userId, materialId }: MaterialOfUser) => findMaterial(database, userId, materialId);
  const apply = ({ userId, review, origin }: ReviewOfUser) =>
    applyReviewIfCurrent(database, userId, review, origin);
  if (isDistributed) return { find, apply };
  return {
    find: together(find, (asked) => findMaterialsOfUsers(database, asked)),
    apply: together(apply, (reviews) => applyReviewsOfUsers(database, reviews)),
  };
}

/**
 * One alone goes by the simpler statement. Where all fail together but the database is there, each is tried alone: what is
 * wrong with one is not its neighbours' fault.
 */
function together<Q extends { userId: string }, R>(
  one: (asked: Q) => Promise<R>,
  all: (asked: readonly Q[]) => Promise<R[]>,
) {
  const alone = (asked: readonly Q[]) => Promise.all(asked.map((each) => one(each).catch(toError)));
  const callAll = async (asked: readonly Q[]): Promise<(R | Error)[]> => {
    if (asked.length === 1) return alone(asked);
    try {
      return await all(asked);
    } catch (error) {
      if (error instanceof ServiceError && error.reason === 'UNAVAILABLE') throw error;
      return alone(asked);
    }
  };
  return coalesce(callAll, { max: MAX_REVIEWS, atOnce: 2, holderOf: ({ userId }) => userId });
}
