-- Up Migration
-- All learners are counted in order of their IDs, again and again, so no write marks whom it changed, and no index finds them by time.
-- scheduling.changed_learners, and is_ageing and next_due_time of scheduling.learners, are for processes of the release before, which
-- may run until all are replaced; a later migration drops them.
DELETE FROM scheduling.changed_learners;
ALTER TABLE scheduling.learners ALTER COLUMN is_ageing SET DEFAULT true;
-- One by one, as Citus demands.
DROP INDEX scheduling.learners_to_count;
DROP INDEX scheduling.reviews_by_time;
DROP INDEX scheduling.material_search_by_time;
DROP INDEX scheduling.snoozes_by_time;

-- How far the count in progress has come, for whichever process goes on with it: one row.
CREATE TABLE scheduling.learner_count (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  -- {beginTime, afterUserId, summary}; NULL: the latest count is complete.
  progress json,
  -- Not before it do the next users follow, or the next count.
  next_time timestamptz(3) NOT NULL
);
