-- Up Migration
-- A learner's settings. Each change adds a version, and none is removed: a review names the version that it was scheduled with, so
-- that it can be replayed. The highest version counts; a learner without one has SM-2.
CREATE TABLE scheduling.learner_settings (
  user_id uuid NOT NULL,
  version integer NOT NULL CHECK (version > 0),
  scheduler text NOT NULL CHECK (scheduler IN ('sm2', 'fsrs')),
  -- The chance to recall at which FSRS asks.
  desired_retention double precision NOT NULL CHECK (desired_retention BETWEEN 0.7 AND 0.97),
  -- IANA zone of the calendar days of FSRS.
  time_zone text NOT NULL,
  -- Of FSRS-6; NULL: its defaults.
  parameters double precision[] CHECK (cardinality(parameters) = 21),
  create_time timestamptz(3) NOT NULL,
  PRIMARY KEY (user_id, version)
);

-- Reviews of before were scheduled by SM-2, which no setting changes.
ALTER TABLE scheduling.reviews
  ADD COLUMN scheduler text NOT NULL DEFAULT 'sm2', ADD COLUMN settings_version integer NOT NULL DEFAULT 0;

-- As the function of 0007, which stays for processes of the release before, with the scheduler and the version of the settings.
CREATE FUNCTION scheduling.apply_review(
  of_user_id uuid, of_material_id uuid, new_revision integer, new_review_id uuid, new_quality smallint, new_review_time timestamptz,
  before_ease_factor_hundredths integer, before_interval_days integer, before_repetitions integer,
  before_next_review_time timestamptz, after_ease_factor_hundredths integer, after_interval_days integer,
  after_repetitions integer, after_next_review_time timestamptz, new_x_request_id text, new_traceparent text,
  new_scheduler text, new_settings_version integer
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
    x_request_id, traceparent, scheduler, settings_version)
  VALUES (of_user_id, of_material_id, new_revision, new_review_id, new_quality, new_review_time,
    before_ease_factor_hundredths, before_interval_days, before_repetitions, before_next_review_time,
    after_ease_factor_hundredths, after_interval_days, after_repetitions, after_next_review_time,
    new_x_request_id, new_traceparent, new_scheduler, new_settings_version);
  RETURN true;
END $function$;

-- Where the other tables are distributed by Citus, it lies beside them.
DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'scheduling.materials'::regclass) THEN
      PERFORM create_distributed_table('scheduling.learner_settings', 'user_id', colocate_with => 'scheduling.materials');
    END IF;
  END IF;
END $do$;
