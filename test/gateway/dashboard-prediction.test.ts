// What the overview says of a learner's recall, in a real browser.
import { describe, expect } from 'vitest';
import { DEFAULT_PARAMETERS } from '../../services/scheduling/reviews/fsrs.ts';
import { test } from '../fixtures.ts';
import { material, review, storeFacts } from '../scheduling/stats-facts.ts';
import { hasBrowser } from '../support/browser.ts';

describe.runIf(hasBrowser('the prediction'))('the card of a learner’s recall', () => {
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
    const card = page.getByRole('region', { name: 'Recall today', exact: true });
    for (const words of [
      'About 93 of 120 materials (78 %) would be remembered if the learner were asked today all that they have studied, also what is not due yet. This is an estimate by FSRS, a model of memory, with settings that fit learners on average. SM-2 came closer in past reviews, but FSRS makes this estimate for every learner, so that learners can be compared.',
      'in 360 past reviews, FSRS predicted reliably better than a guess of 67 % each time, the share that was remembered. FSRS predicted 80 % on average, but 67 % were remembered, so today’s figure is probably too high.',
      'With SM-2, a review comes when the chance of remembering has fallen to 86 % on average, by FSRS’s estimate.',
      'SM-2 came closest, reliably closer than always guessing the learner’s average of 67 %.',
    ])
      await card.getByText(words).waitFor();
    expect(await card.getByRole('rowheader').count()).toBe(0);
    await card.getByText('How this was checked (for specialists)').click();
    expect(await card.getByRole('rowheader').allTextContents()).toHaveLength(4);
    // Which of the two is closer depends on the order of the reviews of an instant.
    await expect
      .poll(async () => (await card.getByRole('row', { name: /average.*–/ }).allInnerTexts()).toSorted())
      .toEqual([
        expect.stringMatching(/^Recent average.*\t– \(same guess for all\)\tno$/),
        expect.stringMatching(/^The learner’s average.*\t– \(same guess for all\)\t–$/),
      ]);
    await card.getByRole('rowheader', { name: 'The learner’s average (67 %)' }).waitFor();
    const figure = page.getByRole('region', { name: 'Predicted and actual recall', exact: true });
    await figure.getByRole('button', { name: 'Show as table' }).click();
    expect(await figure.getByRole('rowheader').allTextContents()).toContain('FSRS');
    await figure.getByText('Area of a mark:').waitFor({ state: 'hidden' });
    await figure.getByRole('button', { name: 'Show as table' }).click();
    expect(await figure.locator('.legend').last().textContent()).toBe(
      'Area of a mark:2 reviews20 reviews200 reviews',
    );
    await figure
      .getByText(
        'Example: The largest mark of SM-2 stands for 240 reviews. SM-2 gave each of them a chance of about 90 %; 100 % were remembered.',
      )
      .waitFor();
    await figure
      .getByText(
        'Of 360 reviews, 67 % were remembered. On average SM-2 had predicted 78 %, FSRS 80 %. A good predictor is right on average, and gives lower chances to what is then forgotten. Of the predictors drawn here, SM-2 did this best.',
      )
      .waitFor();
    expect(complaints).toEqual([]);
  });

  test('says that a guess of the average is better than the source of the estimate', async ({
    dashboard,
    scheduling,
  }) => {
    const learner = await dashboard.newLearner();
    const materials = Array.from({ length: 120 }, () => material());
    const reviews = materials.flatMap((of, index) => [
      review(of, days(40)),
      // Kept and forgotten in turn: what was recent says nothing of what comes.
      review(of, days(39 + index / 86_400), index % 2 === 0 ? 0 : 4),
    ]);
    await storeFacts(scheduling.sql, learner.userId, { materials, reviews });
    const { page } = await dashboard.openAt(`#/users/${learner.userId}`);
    const card = page.getByRole('region', { name: 'Recall today', exact: true });
    await card
      .getByText(
        /it is a rough figure: in 120 past reviews, a guess of 50\s% each time, the share that was remembered, was better than FSRS\. FSRS predicted \d\d\s% on average, but 50\s% were remembered, so today’s figure is probably too high\./,
      )
      .waitFor();
    await card
      .getByText(
        'The learner’s average (50 %) came closest. No other predictor told more than this share alone.',
      )
      .waitFor();
  });

  test('says why FSRS was not trained on the learner', async ({ dashboard, scheduling }) => {
    const { page } = await dashboard.openAt('#/users');
    const told = async (userId: string, why: string) => {
      await page.evaluate("location.hash = '#/users'");
      await page.getByRole('heading', { name: 'All learners' }).waitFor();
      await page.evaluate(`location.hash = '#/users/${userId}'`);
      const card = page.getByRole('region', { name: 'Recall today', exact: true });
      await card.getByText(`FSRS is not trained on this learner${why}`).waitFor();
    };
    const store = (userId: string, count: number) => {
      const materials = Array.from({ length: count }, () => material());
      const reviews = materials.flatMap((of) => [review(of, days(40)), review(of, days(20))]);
      return storeFacts(scheduling.sql, userId, { materials, reviews });
    };
    const few = await dashboard.newLearner();
    await store(few.userId, 199);
    await told(
      few.userId,
      ': training takes 400 reviews, and so far about 398 count. It trains by itself once there are enough. No action is needed.',
    );
    const many = await dashboard.newLearner();
    await store(many.userId, 200);
    await told(
      many.userId,
      '. There are enough reviews, so it trains by itself on a coming night. If it stays untrained, the server lacks the trainer, an optional package: ask whoever runs the server to install it.',
    );
    const sandbox = { email: 'untrained@example.com', sandbox: true };
    const { user } = await dashboard.gateway.mutate('createUser', sandbox, 'user { id }');
    await store(user.id, 200);
    await told(user.id, ': learners of the sandbox are not trained. No action is needed.');
  });

  test('scores FSRS trained on the learner beside the others, and says on what it was trained', async ({
    dashboard,
    scheduling,
  }) => {
    const learner = await dashboard.newLearner([], 'Asia/Tokyo');
    const materials = Array.from({ length: 120 }, () => material());
    const reviews = materials.flatMap((of) => [review(of, days(40)), review(of, days(20))]);
    await storeFacts(scheduling.sql, learner.userId, { materials, reviews });
    const train = (time: string) =>
      scheduling.sql.query(
        `INSERT INTO scheduling.learner_predictions VALUES ($1, 500, now(), 120, NULL, $2, $3, 480)
         ON CONFLICT (user_id) DO UPDATE SET train_time = excluded.train_time`,
        [learner.userId, DEFAULT_PARAMETERS, time],
      );
    await train('2026-05-02T20:00:00Z');
    const card = async () => {
      const { page } = await dashboard.openAt(`#/users/${learner.userId}`);
      return page.getByRole('region', { name: 'Recall today', exact: true });
    };
    const scored = await card();
    await scored
      .getByText(
        'FSRS was trained on the 480 reviews up to Sun, 3 May 2026. All predictors are checked on later reviews.',
      )
      .waitFor();
    await scored.getByText('How this was checked (for specialists)').click();
    expect(await scored.getByRole('rowheader').allTextContents()).toContain('FSRS, trained on this learner');
    await train(days(10));
    await (await card())
      .getByText(/It is compared with the others once 100 reviews have followed\./)
      .waitFor();
  });

  test('says that there are too few reviews', async ({ dashboard }) => {
    const learner = await dashboard.newLearner(['T']);
    await dashboard.gateway.clients.reviews.submitReview(
      { userId: learner.userId, materialId: learner.ids[0] ?? '', quality: 4 },
      { requestId: 'test' },
    );
    const { page } = await dashboard.openAt(`#/users/${learner.userId}`);
    const card = page.getByRole('region', { name: 'Recall today', exact: true });
    await card.getByText('Too few reviews to say: 0 of the 100 that it takes.').waitFor();
    await card.getByText('About 1 of 1 material').waitFor();
  });
});

const DAY_MS = 86_400_000;

const days = (count: number) => new Date(Date.now() - count * DAY_MS).toISOString();
