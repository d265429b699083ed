-- Up Migration
-- A transaction of its own: reviews are read and written while all rows are looked at.
ALTER TABLE scheduling.reviews VALIDATE CONSTRAINT reviews_schedules_check;
