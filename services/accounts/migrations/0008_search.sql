-- Up Migration
-- What people look a user up by: address and names, in lower case and composed (NFC).
CREATE FUNCTION accounts.search_text(email text, first_name text, last_name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN lower(normalize(email || ' ' || coalesce(first_name, '') || ' ' || coalesce(last_name, ''), NFC));

-- Every three characters that follow each other. A text that another one is a part of has all of its.
CREATE FUNCTION accounts.trigrams(content text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 1000
RETURN ARRAY(SELECT DISTINCT substr(content, i, 3) FROM generate_series(1, length(content) - 2) i);

CREATE INDEX users_by_text ON accounts.users
  USING gin (accounts.trigrams(accounts.search_text(email, first_name, last_name)));
-- Gathering statistics would take every row apart, and they help no plan.
ALTER INDEX accounts.users_by_text ALTER COLUMN 1 SET STATISTICS 0;

-- What pages show of an ID: its last characters, which are random.
CREATE INDEX users_by_id_ending ON accounts.users (right(user_id::text, 8));
CREATE INDEX api_keys_by_id_ending ON accounts.api_keys (right(api_key_id::text, 8));

-- A request ID leads to what was done in it, and to the revoked key with which it was refused. Of each key the latest are kept. Without a
-- reference to the key, whose row each refusal would lock.
CREATE INDEX user_events_by_request ON accounts.user_events (request_id);
CREATE TABLE accounts.refused_requests (
  api_key_id uuid NOT NULL,
  refuse_time timestamptz(3) NOT NULL,
  request_id text NOT NULL,
  PRIMARY KEY (api_key_id, refuse_time, request_id)
);
CREATE INDEX refused_requests_by_request ON accounts.refused_requests (request_id);
