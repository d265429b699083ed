-- Up Migration

-- Reviews by time: the history of a user page by page, and all that statistics count, without reading the table.
CREATE INDEX reviews_latest ON scheduling.reviews (user_id, review_time DESC, review_id DESC)
  INCLUDE (material_id, quality, before_interval_days);

CREATE INDEX snoozes_latest ON scheduling.snoozes (user_id, create_time DESC, snooze_id DESC);

CREATE INDEX materials_archived ON scheduling.materials (user_id, create_time DESC, material_id DESC)
  WHERE archive_time IS NOT NULL;

-- Writes that succeeded under a request_id, each stored in its write's own transaction.
CREATE TABLE scheduling.answered_requests (
  user_id uuid NOT NULL,
  rpc text NOT NULL,
  request_id text NOT NULL,
  -- SHA-256 over the validated fields.
  fingerprint bytea NOT NULL,
  -- What was written to: when one of them is deleted, so is this record of its text.
  material_ids uuid[] NOT NULL,
  -- The message answered; JSON null only until the write's transaction ends.
  response jsonb NOT NULL,
  create_time timestamptz(3) NOT NULL,
  PRIMARY KEY (user_id, rpc, request_id)
);

CREATE INDEX answered_requests_oldest ON scheduling.answered_requests (create_time);

-- Users whose data were deleted on request: nothing may be written for them any more.
CREATE TABLE scheduling.deleted_users (
  user_id uuid PRIMARY KEY,
  delete_time timestamptz(3) NOT NULL
);

-- The lock by which new materials of a user and the deletion of the user's data exclude each other.
CREATE FUNCTION scheduling.user_lock(user_id uuid) RETURNS bigint
  LANGUAGE sql IMMUTABLE RETURN hashtextextended(user_id::text, 7);

-- Stores a material with its search text, or returns false where the user's data were deleted. A function, so that it is
-- one trip: the check must begin after the lock is held, which one plain statement cannot do. Reviews and snoozes need
-- no such check, since the deletion takes the materials that they would need.
CREATE FUNCTION scheduling.insert_material(
  owner_id uuid, new_id uuid, new_title text, new_content text, new_source_url text, new_type text,
  new_ease_factor_hundredths integer, new_interval_days integer, new_repetitions integer,
  new_next_review_time timestamptz, new_create_time timestamptz
) RETURNS boolean
LANGUAGE plpgsql AS $function$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(scheduling.user_lock(owner_id));
  IF EXISTS (SELECT FROM scheduling.deleted_users d WHERE d.user_id = owner_id) THEN
    RETURN false;
  END IF;
  INSERT INTO scheduling.materials (user_id, material_id, title, content, source_url, type, ease_factor_hundredths,
    interval_days, repetitions, next_review_time, create_time, update_time)
  VALUES (owner_id, new_id, new_title, new_content, new_source_url, new_type, new_ease_factor_hundredths,
    new_interval_days, new_repetitions, new_next_review_time, new_create_time, new_create_time);
  INSERT INTO scheduling.material_search (user_id, material_id, title, content, source_url)
  VALUES (owner_id, new_id, lower(new_title), lower(coalesce(new_content, '')), lower(coalesce(new_source_url, '')));
  RETURN true;
END $function$;
