-- Up Migration
-- Whether attempt_time is the end of a lease. Processes of the version before leave it false.
ALTER TABLE reminders.deliveries ADD COLUMN is_leased boolean NOT NULL DEFAULT false;

-- Down Migration
ALTER TABLE reminders.deliveries DROP COLUMN is_leased;
