-- Up Migration
-- Applies a review that was computed from the material's revision before it, and appends it to the history, both or neither. False,
-- and nothing is written, where the material has changed since, is gone, or is being changed: it is not waited for, so that
-- reviews that share a statement never wait for each other's materials.
CREATE FUNCTION scheduling.apply_review(
  of_user_id uuid, of_material_id uuid, new_revision integer, new_review_id uuid, new_quality smallint, new_review_time timestamptz,
  before_ease_factor_hundredths integer, before_interval_days integer, before_repetitions integer,
  before_next_review_time timestamptz, after_ease_factor_hundredths integer, after_interval_days integer,
  after_repetitions integer, after_next_review_time timestamptz, new_x_request_id text, new_traceparent text
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
    x_request_id, traceparent)
  VALUES (of_user_id, of_material_id, new_revision, new_review_id, new_quality, new_review_time,
    before_ease_factor_hundredths, before_interval_days, before_repetitions, before_next_review_time,
    after_ease_factor_hundredths, after_interval_days, after_repetitions, after_next_review_time,
    new_x_request_id, new_traceparent);
  RETURN true;
END $function$;
