-- Up Migration
-- What predicts each learner's recall best, as it was last scored, and the parameters of FSRS-6 trained on the learner's reviews.
CREATE TABLE scheduling.learner_predictions (
  user_id uuid PRIMARY KEY,
  -- How many reviews there were. With 15 % more, the learner is scored and trained again.
  reviews integer NOT NULL,
  score_time timestamptz(3) NOT NULL,
  -- On how many reviews each predictor was scored.
  scored_reviews integer NOT NULL,
  -- The lowest log loss of those that beat the average; NULL: none does, or there were too few reviews to say.
  best text,
  -- NULL: not trained.
  parameters double precision[] CHECK (cardinality(parameters) = 21),
  -- Up to when the reviews reach on which they were trained, and how many these are.
  train_time timestamptz(3),
  train_reviews integer,
  CHECK (num_nulls(parameters, train_time, train_reviews) IN (0, 3))
);

-- The nightly round through all learners, for whichever process makes it: one row.
CREATE TABLE scheduling.prediction_round (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  -- Until it a process has the round for itself; then the round begins, or goes on where a process left it.
  next_time timestamptz(3) NOT NULL,
  -- The latest learner whose turn came; NULL: none, the next round begins with the first.
  after_user_id uuid,
  -- When the latest complete round ended, and how many learners it knows by what predicts them best.
  end_time timestamptz(3),
  best_counts json
);
-- The first is at 02:00 UTC.
INSERT INTO scheduling.prediction_round (next_time)
VALUES ((date_trunc('day', now() AT TIME ZONE 'UTC' - interval '2 hours') + interval '1 day 2 hours') AT TIME ZONE 'UTC');

-- Where the other tables are distributed by Citus, the learners' lies beside them.
DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'scheduling.materials'::regclass) THEN
      PERFORM create_distributed_table('scheduling.learner_predictions', 'user_id', colocate_with => 'scheduling.materials');
    END IF;
  END IF;
END $do$;
