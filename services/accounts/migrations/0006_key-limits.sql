-- Up Migration
-- When a key ends, and from where it may be used: addresses in CIDR notation; none: from anywhere.
ALTER TABLE accounts.api_keys
  ADD COLUMN expire_time timestamptz(3),
  ADD COLUMN allowed_addresses text[] NOT NULL DEFAULT '{}';
CREATE INDEX api_keys_expiring ON accounts.api_keys (expire_time, api_key_id)
  WHERE expire_time IS NOT NULL AND revoke_time IS NULL;
