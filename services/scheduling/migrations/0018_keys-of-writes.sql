-- Up Migration
-- The API key of the request that made a review or a snooze; NULL where there was none, and for one of before.
ALTER TABLE scheduling.reviews ADD COLUMN api_key_id uuid;
ALTER TABLE scheduling.snoozes ADD COLUMN api_key_id uuid;

-- As the function of 0017, with the key. No release has called that one.
DROP FUNCTION scheduling.apply_review(uuid, uuid, integer, uuid, smallint, timestamptz, integer, integer, integer, timestamptz,
  integer, integer, integer, timestamptz, text, text, text, integer);
CREATE FUNCTION scheduling.apply_review(
  of_user_id uuid, of_material_id uuid, new_revision integer, new_review_id uuid, new_quality smallint, new_review_time timestamptz,
  before_ease_factor_hundredths integer, before_interval_days integer, before_repetitions integer,
  before_next_review_time timestamptz, after_ease_factor_hundredths integer, after_interval_days integer,
  after_repetitions integer, after_next_review_time timestamptz, new_x_request_id text, new_traceparent text,
  new_scheduler text, new_settings_version integer, new_api_key_id uuid
) RETURNS boolean
LANGUAGE plpgsql AS $function$
BEGIN
  PERFORM FROM scheduling.materials m
  WHERE m.user_id = of_user_id AND m.material_id = of_material_id AND m.revision = new_revision - 1
  FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE scheduling.materials m
  SET ease_factor_hundredths = after_ease_factor_hundredths, interval_days = after_interval_days,
      repetitions = after_repetitions, next_review_time = after_next_review_time,
      last_reviewed_time = new_review_time, update_time = new_review_time, revision = new_revision
  WHERE m.user_id = of_user_id AND m.material_id = of_material_id;
  INSERT INTO scheduling.reviews (user_id, material_id, revision, review_id, quality, review_time,
    before_ease_factor_hundredths, before_interval_days, before_repetitions, before_next_review_time,
    after_ease_factor_hundredths, after_interval_days, after_repetitions, after_next_review_time,
    x_request_id, traceparent, scheduler, settings_version, api_key_id)
  VALUES (of_user_id, of_material_id, new_revision, new_review_id, new_quality, new_review_time,
    before_ease_factor_hundredths, before_interval_days, before_repetitions, before_next_review_time,
    after_ease_factor_hundredths, after_interval_days, after_repetitions, after_next_review_time,
    new_x_request_id, new_traceparent, new_scheduler, new_settings_version, new_api_key_id);
  RETURN true;
END $function$;
