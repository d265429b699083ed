-- Up Migration
-- No version that knew these columns was released.
DROP TRIGGER follow_channels ON reminders.reminders;
DROP FUNCTION reminders.follow_channels();
ALTER TABLE reminders.reminders DROP COLUMN by_email, DROP COLUMN by_push;
