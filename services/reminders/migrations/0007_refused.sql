-- Up Migration
-- When the mail server refused the user's address for at least the third time in a row; NULL: it has not, or has taken one since.
ALTER TABLE reminders.users ADD COLUMN email_refused_time timestamptz(3);
CREATE INDEX users_email_refused ON reminders.users (email_refused_time) WHERE email_refused_time IS NOT NULL;

-- Down Migration
ALTER TABLE reminders.users DROP COLUMN email_refused_time;
