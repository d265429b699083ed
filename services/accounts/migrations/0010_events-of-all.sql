-- Up Migration
-- The events of all users by time, newest first; the sweep reads it from its end.
CREATE INDEX user_events_newest ON accounts.user_events (event_time DESC, event_id DESC);
DROP INDEX accounts.user_events_oldest;
