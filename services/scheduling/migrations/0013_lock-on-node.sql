-- Up Migration
-- Takes the lock by a statement on a table of the user, so that Citus takes it on the node with the user's rows, wherever the call
-- enters, as the deletion of the user does.
CREATE OR REPLACE FUNCTION scheduling.insert_material(
  owner_id uuid, new_id uuid, new_title text, new_content text, new_source_url text, new_type text,
  new_ease_factor_hundredths integer, new_interval_days integer, new_repetitions integer,
  new_next_review_time timestamptz, new_create_time timestamptz
) RETURNS boolean
LANGUAGE plpgsql AS $function$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(scheduling.user_lock(owner_id)), count(*)
  FROM scheduling.deleted_users d WHERE d.user_id = owner_id;
  -- A statement of its own, which sees what was committed before the lock was taken.
  PERFORM FROM scheduling.deleted_users d WHERE d.user_id = owner_id;
  IF FOUND THEN
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
