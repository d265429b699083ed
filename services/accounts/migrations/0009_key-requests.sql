-- Up Migration
-- How many requests came with a key, for 7 days. As in refused_requests, no reference to the key, whose row each write would lock.
CREATE TABLE accounts.key_requests (
  api_key_id uuid NOT NULL,
  -- In UTC.
  day date NOT NULL,
  route text NOT NULL,
  -- 0: the client disconnected before the answer.
  status smallint NOT NULL,
  requests bigint NOT NULL,
  PRIMARY KEY (api_key_id, day, route, status)
);

-- Refusals of valid keys are kept as well; those from before are of ended keys.
ALTER TABLE accounts.refused_requests
  ADD COLUMN route text NOT NULL DEFAULT '',
  ADD COLUMN status smallint NOT NULL DEFAULT 401,
  ADD COLUMN field text NOT NULL DEFAULT '';

-- For the sweep.
CREATE INDEX key_requests_oldest ON accounts.key_requests (day);
CREATE INDEX refused_requests_oldest ON accounts.refused_requests (refuse_time);
