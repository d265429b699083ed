-- Up Migration
-- In search texts, Greek letters that have several forms in lower case have one, the micro sign is mu, and the long s is s. Otherwise the
-- functions are those of 0022, with the setting of 0028.
CREATE OR REPLACE FUNCTION scheduling.insert_material(
  owner_id uuid, new_id uuid, new_title text, new_content text, new_source_url text, new_type text,
  new_ease_factor_hundredths integer, new_interval_days integer, new_repetitions integer,
  new_next_review_time timestamptz, new_create_time timestamptz
) RETURNS boolean
LANGUAGE plpgsql SET gin_pending_list_limit = '64kB' AS $function$
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
    translate(lower(normalize(new_title, NFC)), 'ςµſẛϐϑϕϖϰϱϵ', 'σμsṡβθφπκρε'),
    translate(lower(normalize(coalesce(new_content, ''), NFC)), 'ςµſẛϐϑϕϖϰϱϵ', 'σμsṡβθφπκρε'),
    translate(lower(normalize(coalesce(new_source_url, ''), NFC)), 'ςµſẛϐϑϕϖϰϱϵ', 'σμsṡβθφπκρε'));
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION scheduling.insert_material(
  owner_id uuid, new_id uuid, new_title text, new_content text, new_source_url text, new_type text,
  new_ease_factor_hundredths integer, new_interval_days integer, new_repetitions integer,
  new_next_review_time timestamptz, new_create_time timestamptz, new_labels text[]
) RETURNS boolean
LANGUAGE plpgsql SET gin_pending_list_limit = '64kB' AS $function$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(scheduling.user_lock(owner_id)), count(*)
  FROM scheduling.deleted_users d WHERE d.user_id = owner_id;
  -- A statement of its own, which sees what was committed before the lock was taken.
  PERFORM FROM scheduling.deleted_users d WHERE d.user_id = owner_id;
  IF FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO scheduling.materials (user_id, material_id, title, content, source_url, type, ease_factor_hundredths,
    interval_days, repetitions, next_review_time, create_time, update_time, labels)
  VALUES (owner_id, new_id, new_title, new_content, new_source_url, new_type, new_ease_factor_hundredths,
    new_interval_days, new_repetitions, new_next_review_time, new_create_time, new_create_time, new_labels);
  INSERT INTO scheduling.material_search (user_id, material_id, create_time, title, content, source_url)
  VALUES (owner_id, new_id, new_create_time,
    translate(lower(normalize(new_title, NFC)), 'ςµſẛϐϑϕϖϰϱϵ', 'σμsṡβθφπκρε'),
    translate(lower(normalize(coalesce(new_content, ''), NFC)), 'ςµſẛϐϑϕϖϰϱϵ', 'σμsṡβθφπκρε'),
    translate(lower(normalize(coalesce(new_source_url, ''), NFC)), 'ςµſẛϐϑϕϖϰϱϵ', 'σμsṡβθφπκρε'));
  IF new_labels IS NOT NULL THEN
    INSERT INTO scheduling.material_labels (user_id, label, material_id)
    SELECT owner_id, label, new_id FROM unnest(new_labels) AS label;
  END IF;
  RETURN true;
END $function$;

-- Those that were stored in another form. Reads them all once, and writes and locks only what differs. A source URL has no character
-- beyond ASCII, and neither has a text of as many bytes as characters.
UPDATE scheduling.material_search
SET title = translate(title, 'ςµſẛϐϑϕϖϰϱϵ', 'σμsṡβθφπκρε'),
    content = translate(content, 'ςµſẛϐϑϕϖϰϱϵ', 'σμsṡβθφπκρε')
WHERE octet_length(title) > char_length(title)
    AND title <> translate(title, 'ςµſẛϐϑϕϖϰϱϵ', 'σμsṡβθφπκρε')
  OR octet_length(content) > char_length(content)
    AND content <> translate(content, 'ςµſẛϐϑϕϖϰϱϵ', 'σμsṡβθφπκρε');
