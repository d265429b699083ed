-- Up Migration
-- Who made a snooze, in which request, and when it was cancelled; NULL for a snooze of before.
ALTER TABLE scheduling.snoozes ADD COLUMN actor text, ADD COLUMN x_request_id text, ADD COLUMN cancel_time timestamptz(3);

-- The material's after the cancellation; NULL while the snooze counts for it.
ALTER TABLE scheduling.snoozed_materials ADD COLUMN cancel_revision integer;
