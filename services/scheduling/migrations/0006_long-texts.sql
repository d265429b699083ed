-- Up Migration
-- Bounds what storing a text costs. Every statement here takes a moment, however large the tables are, and no row is
-- rewritten: a long text that is stored already keeps all its pieces in the index, by which it is found as before.

-- A text of more than 8,192 bytes is not taken apart: a random one of 256 KiB has some 230,000 pieces, which take more than
-- half a second to store. It gets one piece instead, the same for all such texts of its user and greater than any other. A
-- search reads these texts besides those that have the pieces it seeks.
CREATE OR REPLACE FUNCTION scheduling.search_pieces(user_id uuid, content text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT COST 1000 AS $function$
DECLARE
  bytes bytea;
  base bigint := uuid_hash(user_id)::bigint << 32;
  triples integer[];
BEGIN
  IF octet_length(content) > 8192 THEN
    RETURN ARRAY[base + x'1000000'::integer];
  END IF;
  bytes := convert_to(content, 'UTF8') || '\x0000'::bytea;
  triples := ARRAY(
    SELECT DISTINCT (get_byte(bytes, i) << 16) + (get_byte(bytes, i + 1) << 8) + get_byte(bytes, i + 2)
    FROM generate_series(0, octet_length(bytes) - 3) i);
  RETURN ARRAY(SELECT base + triple FROM unnest(triples) triple)
    || ARRAY(SELECT DISTINCT base + (triple & x'FF0000'::integer) FROM unnest(triples) triple
             WHERE triple < x'800000'::integer);
END $function$;

-- Pieces that a text has one of, if it is long or if `pattern` of one or two bytes occurs in it.
CREATE OR REPLACE FUNCTION scheduling.search_any_of(user_id uuid, pattern text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT AS $function$
DECLARE
  bytes bytea := convert_to(pattern, 'UTF8');
  base bigint := uuid_hash(user_id)::bigint << 32;
BEGIN
  RETURN ARRAY[base + x'1000000'::integer] || CASE octet_length(bytes)
    WHEN 1 THEN ARRAY[base + (get_byte(bytes, 0) << 16)]
    WHEN 2 THEN ARRAY(
      SELECT base + (get_byte(bytes, 0) << 16) + (get_byte(bytes, 1) << 8) + following
      FROM generate_series(0, 255) following)
  END;
END $function$;

-- Whoever fills the list of new entries sorts them all in, strangers' too. In a list of 64 kB that takes some 10 ms.
-- As a statement by itself: Citus hands on to other nodes the whole text that a statement came in.
DO $$ BEGIN
  EXECUTE 'ALTER INDEX scheduling.material_search_pieces SET (gin_pending_list_limit = 64)';
END $$;

-- Down Migration
-- Writers wait from here on: a long text that is stored meanwhile would have no pieces, and could not be found.
LOCK TABLE scheduling.material_search IN SHARE ROW EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION scheduling.search_pieces(user_id uuid, content text) RETURNS bigint[]
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

CREATE OR REPLACE FUNCTION scheduling.search_any_of(user_id uuid, pattern text) RETURNS bigint[]
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

-- Stored anew, long texts are indexed by all their pieces: up to a second for each.
WITH long AS (
  DELETE FROM scheduling.material_search s
  WHERE octet_length(s.content) + octet_length(s.source_url) > 8192
  RETURNING s.user_id, s.material_id, s.create_time, s.title, s.content, s.source_url
)
INSERT INTO scheduling.material_search (user_id, material_id, create_time, title, content, source_url)
SELECT user_id, material_id, create_time, title, content, source_url FROM long;

DO $$ BEGIN
  EXECUTE 'ALTER INDEX scheduling.material_search_pieces SET (gin_pending_list_limit = 512)';
END $$;
