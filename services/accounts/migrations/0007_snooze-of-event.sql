-- Up Migration
-- The snooze that an event is about, apart from its materials.
ALTER TABLE accounts.user_events ADD COLUMN snooze_id uuid;
