// Loads the trainer of FSRS-6, fsrs-rs: a native addon in an optional package for each platform.
import { createRequire } from 'node:module';
import type { DayRating } from './statistics/training.ts';

/** The 21 parameters that fit a learner's reviews of each material best; the same for the same reviews. */
export type Trainer = (materials: readonly (readonly DayRating[])[]) => Promise<readonly number[]>;

/** What of the package is used, in its names. */
type Binding = {
  FSRSBindingReview: new (rating: number, days: number) => object;
  FSRSBindingItem: new (reviews: readonly object[]) => object;
  /** `timeout`: milliseconds after which it looks whether the training is over. */
  computeParameters(
    items: readonly object[],
    options: { enableShortTerm: boolean; timeout: number },
  ): Promise<number[]>;
};

const PACKAGE = `@open-spaced-repetition/binding-${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`;
/** Reviews of a material that are used; later ones are ignored. */
const MAX_LENGTH = 64;
const POLL_MS = 5;

/** undefined where the package of this platform is not installed. */
export function loadTrainer(): Trainer | undefined {
  const binding = load();
  if (binding === undefined) return undefined;
  const { computeParameters, FSRSBindingItem, FSRSBindingReview } = binding;
  return (materials) => {
    // One item for each review that is predicted: it, and those before it.
    const items = materials.flatMap((ratings) => {
      const reviews = ratings
        .slice(0, MAX_LENGTH)
        .map(([rating, days]) => new FSRSBindingReview(rating, days));
      return reviews.slice(1).map((_, index) => new FSRSBindingItem(reviews.slice(0, index + 2)));
    });
    return computeParameters(items, { enableShortTerm: false, timeout: POLL_MS });
  };
}

function load(): Binding | undefined {
  try {
    return createRequire(import.meta.url)(PACKAGE);
  } catch {
    return undefined;
  }
}
