-- Up Migration
-- Without the counted columns, so that a count changes a day in place (a heap-only tuple) and leaves the indexes alone.
DROP INDEX scheduling.learner_days_by_day;
CREATE INDEX learner_days_by_day ON scheduling.learner_days (day);
