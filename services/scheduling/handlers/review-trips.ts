// The two trips of a review to the database, each made together with those of other reviews at the same moment.
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
import { ofUsers } from './of-users.ts';

export type ReviewTrips = {
  find(asked: MaterialOfUser): Promise<Material | undefined>;
  /** @returns false, and nothing is written, where the material has changed since, is gone, or is being changed. */
  apply(review: ReviewOfUser): Promise<boolean>;
};

/** `isDistributed`: the users' rows lie on different nodes, so that each review goes by itself to the one that has them. */
export function createReviewTrips(database: Queryable, isDistributed: boolean): ReviewTrips {
  const options = { isDistributed, atOnce: 2 };
  return {
    find: ofUsers(
      ({ userId, materialId }: MaterialOfUser) => findMaterial(database, userId, materialId),
      (asked) => findMaterialsOfUsers(database, asked),
      options,
    ),
    apply: ofUsers(
      ({ userId, review, origin }: ReviewOfUser) => applyReviewIfCurrent(database, userId, review, origin),
      (reviews) => applyReviewsOfUsers(database, reviews),
      options,
    ),
  };
}
