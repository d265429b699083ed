-- Up Migration
-- Revoked keys that programs still send: when last, and in how many minutes since the revocation. Written at most once a minute.
ALTER TABLE accounts.api_keys
  ADD COLUMN last_refused_time timestamptz(3),
  ADD COLUMN refused_minutes integer NOT NULL DEFAULT 0;
CREATE INDEX api_keys_refused ON accounts.api_keys (last_refused_time DESC, api_key_id DESC)
  WHERE last_refused_time IS NOT NULL;
