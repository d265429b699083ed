-- Up Migration
-- What changed lately, of all users. A block range index holds a range of times for many rows that were written together: a
-- review, a material or a snooze pays next to nothing for it.
CREATE INDEX reviews_by_time ON scheduling.reviews USING brin (review_time) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX material_search_by_time ON scheduling.material_search
  USING brin (create_time) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX snoozes_by_time ON scheduling.snoozes
  USING brin (create_time) WITH (pages_per_range = 32, autosummarize = on);

-- Users with a material that was edited, archived or restored (with its new revision), or deleted (-1). A count takes them out.
CREATE TABLE scheduling.changed_learners (
  user_id uuid NOT NULL,
  material_id uuid NOT NULL,
  revision integer NOT NULL,
  PRIMARY KEY (user_id, material_id, revision)
);

-- The reviews of each UTC day, for 60 days; and what was due at the last count of that day.
CREATE TABLE scheduling.learner_days (
  user_id uuid NOT NULL,
  day date NOT NULL,
  reviews integer NOT NULL,
  recalled integer NOT NULL,
  due integer,
  PRIMARY KEY (user_id, day)
);
CREATE INDEX learner_days_by_day ON scheduling.learner_days (day) INCLUDE (reviews, recalled);

-- One row for each user with active materials or reviews, as of count_time. Windows end with counted_day, the UTC day of it;
-- "before" is the window of the same length before.
CREATE TABLE scheduling.learners (
  user_id uuid PRIMARY KEY,
  count_time timestamptz(3) NOT NULL,
  counted_day date NOT NULL,
  reviews_week integer NOT NULL,
  reviews_week_before integer NOT NULL,
  reviews_month integer NOT NULL,
  reviews_month_before integer NOT NULL,
  recalled_month integer NOT NULL,
  recalled_month_before integer NOT NULL,
  -- NULL below 10 reviews.
  retention_permille integer,
  last_review_day date,
  streak_days integer NOT NULL,
  -- Of a streak of 7 days or more that ended the day before yesterday; else 0.
  broken_streak_days integer NOT NULL,
  due integer NOT NULL,
  -- Seven days ago; NULL where it was not counted then.
  due_before integer,
  backlog_growing boolean NOT NULL,
  -- When another material becomes due, and this row has to be counted again.
  next_due_time timestamptz(3)
);
CREATE INDEX learners_to_count ON scheduling.learners (next_due_time);
CREATE INDEX learners_by_due ON scheduling.learners (due DESC, user_id DESC);
CREATE INDEX learners_by_reviews ON scheduling.learners (reviews_month DESC, user_id DESC);
CREATE INDEX learners_by_retention ON scheduling.learners (retention_permille, user_id);
CREATE INDEX learners_by_last_review ON scheduling.learners (last_review_day, user_id);
CREATE INDEX learners_growing ON scheduling.learners (due DESC, user_id DESC) WHERE backlog_growing;
CREATE INDEX learners_broken ON scheduling.learners (due DESC, user_id DESC) WHERE broken_streak_days > 0;

-- All learners together, as of the latest count: one row.
CREATE TABLE scheduling.overview (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  as_of_time timestamptz(3) NOT NULL,
  summary jsonb NOT NULL
);

-- Where the other tables are distributed by Citus, these lie beside them.
DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'scheduling.materials'::regclass) THEN
      PERFORM create_distributed_table(name, 'user_id', colocate_with => 'scheduling.materials')
      FROM unnest(ARRAY['scheduling.changed_learners', 'scheduling.learner_days', 'scheduling.learners']) AS name;
    END IF;
  END IF;
END $do$;
