-- Up Migration
-- In byte order, so that a prefix is one range of the index under any locale of the database.
CREATE INDEX users_by_email_prefix ON accounts.users (folded_email COLLATE "C");

-- The first characters of the key, which people recognise it by; NULL for a key made before and not used since.
ALTER TABLE accounts.api_keys ADD COLUMN key_prefix text;
CREATE INDEX api_keys_by_prefix ON accounts.api_keys (key_prefix COLLATE "C", api_key_id);
