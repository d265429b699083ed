-- Up Migration
-- A transaction of its own: reviews are read and written while all rows are looked at.
ALTER TABLE scheduling.reviews VALIDATE CONSTRAINT reviews_schedules_check;

-- Down Migration
-- A constraint that holds cannot be made one that has not been looked at, and nothing needs it to.
SELECT 1;
