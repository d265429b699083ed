-- Up Migration
-- What a sandbox user would have been sent; NULL for anything that is not kept.
ALTER TABLE reminders.deliveries ADD COLUMN kept_subject text, ADD COLUMN kept_text text;
-- Another state. NOT VALID: the rows that are there have the states of before, and looking at them would hold everyone up.
ALTER TABLE reminders.deliveries DROP CONSTRAINT deliveries_state_check;
ALTER TABLE reminders.deliveries ADD CONSTRAINT deliveries_state_check
  CHECK (state IN ('pending', 'sent', 'skipped', 'failed', 'kept')) NOT VALID;

-- Up to when on their own clock the reminders of a sandbox user have taken place; NULL for anybody else.
ALTER TABLE reminders.users ADD COLUMN follow_time timestamptz(3);
-- Whose clocks are to be looked at: the IDs of sandbox users are UUIDs of version 8.
CREATE INDEX reminders_of_sandbox ON reminders.reminders (user_id, next_time)
  WHERE next_time IS NOT NULL AND substr(user_id::text, 15, 1) = '8';

-- Down Migration
DROP INDEX reminders.reminders_of_sandbox;
ALTER TABLE reminders.users DROP COLUMN follow_time;
ALTER TABLE reminders.deliveries DROP COLUMN kept_subject, DROP COLUMN kept_text;
