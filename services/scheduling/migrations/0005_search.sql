-- Up Migration
-- Of databases older than version 1.0. First, so that the rows below are written without it.
DROP INDEX IF EXISTS scheduling.material_search_trigrams;

-- When each material was made, beside its search text: the newest are looked through first.
ALTER TABLE scheduling.material_search ADD COLUMN create_time timestamptz(3);
UPDATE scheduling.material_search s SET create_time = m.create_time
FROM scheduling.materials m WHERE m.user_id = s.user_id AND m.material_id = s.material_id;
ALTER TABLE scheduling.material_search ALTER COLUMN create_time SET NOT NULL;
CREATE INDEX material_search_newest ON scheduling.material_search (user_id, create_time DESC, material_id DESC);

-- The pieces of a text, by which it is found: every three bytes of its UTF-8 that follow each other (the last two and
-- the last one filled up with zeros), and every ASCII character. A piece is a number: the user's hash above, its bytes
-- below. So what is frequent among others is still rare here, and the pieces of one user lie together in the index.
-- Arithmetic on bytes and not on characters, since taking text apart in SQL costs several times as much.
CREATE FUNCTION scheduling.search_pieces(user_id uuid, content text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT COST 1000 AS $function$
DECLARE
  bytes bytea := convert_to(content, 'UTF8') || '\x0000'::bytea;
  base bigint := uuid_hash(user_id)::bigint << 32;
  triples integer[] := ARRAY(
    SELECT DISTINCT (get_byte(bytes, i) << 16) + (get_byte(bytes, i + 1) << 8) + get_byte(bytes, i + 2)
    FROM generate_series(0, octet_length(bytes) - 3) i);
BEGIN
  RETURN ARRAY(SELECT base + triple FROM unnest(triples) triple)
    || ARRAY(SELECT DISTINCT base + (triple & x'FF0000'::integer) FROM unnest(triples) triple
             WHERE triple < x'800000'::integer);
END $function$;

-- Pieces that a text has all of, if `pattern` of three or more bytes occurs in it; the first ones of a long pattern
-- narrow it down enough. NULL for a shorter one.
CREATE FUNCTION scheduling.search_all_of(user_id uuid, pattern text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT AS $function$
DECLARE
  bytes bytea := convert_to(pattern, 'UTF8');
  base bigint := uuid_hash(user_id)::bigint << 32;
BEGIN
  IF octet_length(bytes) < 3 THEN
    RETURN NULL;
  END IF;
  RETURN ARRAY(
    SELECT DISTINCT base + (get_byte(bytes, i) << 16) + (get_byte(bytes, i + 1) << 8) + get_byte(bytes, i + 2)
    FROM generate_series(0, least(octet_length(bytes) - 3, 63)) i);
END $function$;

-- Pieces that a text has one of, if `pattern` of one or two bytes occurs in it. NULL for a longer one.
CREATE FUNCTION scheduling.search_any_of(user_id uuid, pattern text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT AS $function$
DECLARE
  bytes bytea := convert_to(pattern, 'UTF8');
  base bigint := uuid_hash(user_id)::bigint << 32;
BEGIN
  RETURN CASE octet_length(bytes)
    WHEN 1 THEN ARRAY[base + (get_byte(bytes, 0) << 16)]
    WHEN 2 THEN ARRAY(
      SELECT base + (get_byte(bytes, 0) << 16) + (get_byte(bytes, 1) << 8) + following
      FROM generate_series(0, 255) following)
  END;
END $function$;

-- Title apart, since matches in it come first. New entries wait in a list, so that they are sorted in together, but in a
-- short one, since every search reads it.
CREATE INDEX material_search_pieces ON scheduling.material_search USING gin
  (scheduling.search_pieces(user_id, title), scheduling.search_pieces(user_id, content || source_url))
  WITH (fastupdate = on, gin_pending_list_limit = 512);
-- Statistics of pieces help no plan, and gathering them would take every row apart.
ALTER INDEX scheduling.material_search_pieces ALTER COLUMN 1 SET STATISTICS 0, ALTER COLUMN 2 SET STATISTICS 0;

CREATE OR REPLACE FUNCTION scheduling.insert_material(
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
  INSERT INTO scheduling.material_search (user_id, material_id, create_time, title, content, source_url)
  VALUES (owner_id, new_id, new_create_time,
    lower(new_title), lower(coalesce(new_content, '')), lower(coalesce(new_source_url, '')));
  RETURN true;
END $function$;
