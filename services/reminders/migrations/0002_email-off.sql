-- Up Migration
-- Whose e-mail was switched off lately, of all users.
CREATE INDEX users_email_off ON reminders.users (email_off_time DESC, user_id DESC) WHERE email_off_time IS NOT NULL;

-- Down Migration
DROP INDEX reminders.users_email_off;
