-- Up Migration
-- Names of one or two characters, as in Chinese, Japanese and Korean: they have no three that follow each other.
CREATE INDEX users_by_first_name ON accounts.users (lower(normalize(first_name, NFC)));
CREATE INDEX users_by_last_name ON accounts.users (lower(normalize(last_name, NFC)));
