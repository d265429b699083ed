-- Up Migration
-- Why e-mail was off before the user unsubscribed, so that an undo does not switch it on; NULL: it was on.
ALTER TABLE reminders.users ADD COLUMN email_off_before text;

-- Down Migration
ALTER TABLE reminders.users DROP COLUMN email_off_before;
