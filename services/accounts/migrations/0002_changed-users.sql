-- Up Migration
-- Users by their latest change, for programs that follow changes.
CREATE INDEX users_changed ON accounts.users (update_time, user_id);
