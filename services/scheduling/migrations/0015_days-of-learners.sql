-- Up Migration
-- A learner in one row: what a count reads of before and writes is one row, and no sum is kept that follows from others. The next
-- count begins anew; what was due a week ago is known again after a week.
DROP TABLE scheduling.learners, scheduling.learner_days;
TRUNCATE scheduling.overview;

-- One row for each user with active materials or reviews, as of count_time.
CREATE TABLE scheduling.learners (
  user_id uuid PRIMARY KEY,
  count_time timestamptz(3) NOT NULL,
  -- Reviews and backlog by the age of the day, from that of count_time on: lists of "reviews", "recalled" and "dues". All figures follow
  -- from it; those below are for the indexes.
  days json NOT NULL,
  -- Whether the figures change with the day alone.
  is_ageing boolean NOT NULL,
  -- When another material becomes due, and this row has to be counted again.
  next_due_time timestamptz(3),
  due integer NOT NULL,
  reviews_month integer NOT NULL,
  -- NULL below 10 reviews.
  retention_permille integer,
  -- Whole days since 1970-01-01.
  last_review_day integer,
  backlog_growing boolean NOT NULL,
  streak_broken boolean NOT NULL
);
CREATE INDEX learners_to_count ON scheduling.learners (next_due_time);
CREATE INDEX learners_by_due ON scheduling.learners (due DESC, user_id DESC);
CREATE INDEX learners_by_reviews ON scheduling.learners (reviews_month DESC, user_id DESC);
CREATE INDEX learners_by_retention ON scheduling.learners (retention_permille, user_id);
CREATE INDEX learners_by_last_review ON scheduling.learners (last_review_day, user_id);
CREATE INDEX learners_growing ON scheduling.learners (due DESC, user_id DESC) WHERE backlog_growing;
CREATE INDEX learners_broken ON scheduling.learners (due DESC, user_id DESC) WHERE streak_broken;

-- Where the other tables are distributed by Citus, it lies beside them.
DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'scheduling.materials'::regclass) THEN
      PERFORM create_distributed_table('scheduling.learners', 'user_id', colocate_with => 'scheduling.materials');
    END IF;
  END IF;
END $do$;
