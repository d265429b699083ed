-- Up Migration
-- Unused: an earlier version writes it.
ALTER TABLE reminders.users ADD COLUMN email_refused_time timestamptz(3);
CREATE INDEX users_email_refused ON reminders.users (email_refused_time) WHERE email_refused_time IS NOT NULL;

-- Down Migration
ALTER TABLE reminders.users DROP COLUMN email_refused_time;
