// What the overview says of a learner's memory, in a real browser.
import { describe, expect } from 'vitest';
import { DEFAULT_PARAMETERS } from '../../services/scheduling/reviews/fsrs.ts';
import { test } from '../fixtures.ts';
import { material, review, storeFacts } from '../scheduling/stats-facts.ts';
import { hasBrowser } from '../support/browser.ts';

const DAY_MS = 86_400_000;

describe.runIf(hasBrowser('the prediction'))('the card of a learner’s memory', { timeout: 60_000 }, () => {
  test('says what would be known, what SM-2 asks for, and who predicts best', async ({
    dashboard,
    scheduling,
  }) => {
    const learner = await dashboard.newLearner();
    const materials = Array.from({ length: 120 }, () => material());
    // Of two thirds, each review is kept; of the others, each is forgotten: only what looks at the material can predict it.
    const reviews = materials.flatMap((of, index) =>
      [40, 34, 28, 22].map((ago) => review(of, days(ago), index % 3 === 0 ? 0 : 4)),
    );
    await storeFacts(scheduling.sql, learner.userId, { materials, reviews });
    const { page, complaints } = await dashboard.openAt(`#/users/${learner.userId}`);
    const card = page.getByRole('region', { name: 'Memory', exact: true });
    for (const words of [
      'About 93 of 120 materials would be known today (77 %), by the estimate of FSRS.',
      'SM-2 asks when the learner would know 86 %, by the same estimate.',
      'SM-2 comes closest to what was recalled, and beats the plain average beyond chance.',
    ])
      await card.getByText(words).waitFor();
    expect(await card.getByRole('rowheader').allTextContents()).toHaveLength(4);
    const figure = page.getByRole('region', { name: 'Predicted and kept', exact: true });
    await figure.getByRole('button', { name: 'Table' }).click();
    expect(await figure.getByRole('rowheader').allTextContents()).toContain('FSRS');
    expect(complaints).toEqual([]);
  });

  test('scores FSRS trained on the learner beside the others, and says on what it was trained', async ({
    dashboard,
    scheduling,
  }) => {
    const learner = await dashboard.newLearner();
    const materials = Array.from({ length: 120 }, () => material());
    const reviews = materials.flatMap((of) => [review(of, days(40)), review(of, days(20))]);
    await storeFacts(scheduling.sql, learner.userId, { materials, reviews });
    const train = (time: string) =>
      scheduling.sql.query(
        `INSERT INTO scheduling.learner_predictions VALUES ($1, 500, now(), 120, NULL, $2, $3, 480)
         ON CONFLICT (user_id) DO UPDATE SET train_time = excluded.train_time`,
        [learner.userId, DEFAULT_PARAMETERS, time],
      );
    await train('2026-05-03T10:00:00Z');
    const card = async () => {
      const { page } = await dashboard.openAt(`#/users/${learner.userId}`);
      return page.getByRole('region', { name: 'Memory', exact: true });
    };
    const scored = await card();
    await scored
      .getByText(
        'FSRS was trained on the 480 reviews up to Sun, 3 May 2026, and all are measured on later ones.',
      )
      .waitFor();
    expect(await scored.getByRole('rowheader').allTextContents()).toContain('FSRS, trained on this learner');
    await train(days(10));
    await (await card()).getByText(/It is compared with the others once 100 have followed\./).waitFor();
  });

  test('says that there are too few reviews', async ({ dashboard }) => {
    const learner = await dashboard.newLearner(['T']);
    await dashboard.gateway.clients.reviews.submitReview(
      { userId: learner.userId, materialId: learner.ids[0] ?? '', quality: 4 },
      { requestId: 'test' },
    );
    const { page } = await dashboard.openAt(`#/users/${learner.userId}`);
    const card = page.getByRole('region', { name: 'Memory', exact: true });
    await card.getByText('Too few reviews to say what predicts best: 0 of the 100 that it takes.').waitFor();
    await card.getByText('About 1 of 1 material').waitFor();
  });
});

const days = (count: number) => new Date(Date.now() - count * DAY_MS).toISOString();
