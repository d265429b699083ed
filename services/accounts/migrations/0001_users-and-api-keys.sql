-- Up Migration

CREATE TABLE accounts.users (
  user_id uuid PRIMARY KEY,
  email text NOT NULL,
  -- lower(email): addresses compare without regard to case.
  folded_email text NOT NULL UNIQUE,
  first_name text,
  last_name text,
  plan text NOT NULL CHECK (plan IN ('free', 'premium')),
  time_zone text NOT NULL,
  create_time timestamptz(3) NOT NULL,
  update_time timestamptz(3) NOT NULL
);

CREATE INDEX users_newest ON accounts.users (create_time DESC, user_id DESC);

-- A revoked key keeps its row: it counts in the creation limit and stays in lists.
CREATE TABLE accounts.api_keys (
  api_key_id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES accounts.users ON DELETE CASCADE,
  name text NOT NULL,
  scopes text[] NOT NULL CHECK (cardinality(scopes) > 0),
  -- HMAC-SHA-256 of the key under the pepper of this version; the key itself is nowhere.
  key_hash bytea NOT NULL UNIQUE,
  pepper_version text NOT NULL,
  create_time timestamptz(3) NOT NULL,
  last_used_time timestamptz(3),
  revoke_time timestamptz(3)
);

CREATE INDEX api_keys_of_user ON accounts.api_keys (user_id, create_time DESC, api_key_id DESC);

-- HMAC-SHA-256 of a constant under each pepper ever used: tells a wrong pepper at start, not at the first request.
CREATE TABLE accounts.pepper_checks (
  pepper_version text PRIMARY KEY,
  check_value bytea NOT NULL
);
