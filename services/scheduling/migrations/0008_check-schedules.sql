-- Up Migration
-- What SM-2 can leave, said of every new row of the history, as it is of the materials. NOT VALID: nothing is read, so the lock
-- that keeps everyone out is held for a moment; 0009 looks at the rows that are there. One constraint, so one look. Quality is
-- checked since 0001.
ALTER TABLE scheduling.reviews ADD CONSTRAINT reviews_schedules_check CHECK (
  before_ease_factor_hundredths >= 130 AND after_ease_factor_hundredths >= 130
  AND before_interval_days BETWEEN 0 AND 36500 AND after_interval_days BETWEEN 0 AND 36500
  AND before_repetitions >= 0 AND after_repetitions >= 0
) NOT VALID;
