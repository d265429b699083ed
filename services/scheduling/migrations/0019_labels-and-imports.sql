-- Up Migration
-- In the order they were given; NULL where there are none, so that a list of materials reads nothing more.
ALTER TABLE scheduling.materials ADD COLUMN labels text[];

-- The same by label: what has a label, and what lies below it, is a range. Reviews do not touch it. Without a foreign key, whose check
-- would need one more index: what deletes a material deletes its labels.
CREATE TABLE scheduling.material_labels (
  user_id uuid NOT NULL,
  label text COLLATE "C" NOT NULL,
  material_id uuid NOT NULL,
  PRIMARY KEY (user_id, label, material_id)
);

-- What came from another program, and where the history of a material begins that was made elsewhere. A source is unique, so that a
-- second import finds what the first one stored.
CREATE TABLE scheduling.imported_materials (
  user_id uuid NOT NULL,
  source text COLLATE "C" NOT NULL,
  material_id uuid NOT NULL,
  import_time timestamptz(3) NOT NULL,
  -- When the text was last changed there; NULL where it is not known.
  source_update_time timestamptz(3),
  -- SHA-256 of the text that came with the import.
  text_digest bytea NOT NULL,
  -- The material's revision after the import, and its schedule: from here the history is replayed. Imported reviews have a revision of 0 or less.
  revision integer NOT NULL,
  ease_factor_hundredths integer NOT NULL CHECK (ease_factor_hundredths >= 130),
  interval_days integer NOT NULL CHECK (interval_days BETWEEN 0 AND 36500),
  repetitions integer NOT NULL CHECK (repetitions >= 0),
  next_review_time timestamptz(3),
  last_reviewed_time timestamptz(3),
  PRIMARY KEY (user_id, source),
  UNIQUE (user_id, material_id),
  FOREIGN KEY (user_id, material_id) REFERENCES scheduling.materials ON DELETE CASCADE
);

-- As the function of 0013, which stays for processes of the release before, with the labels.
CREATE FUNCTION scheduling.insert_material(
  owner_id uuid, new_id uuid, new_title text, new_content text, new_source_url text, new_type text,
  new_ease_factor_hundredths integer, new_interval_days integer, new_repetitions integer,
  new_next_review_time timestamptz, new_create_time timestamptz, new_labels text[]
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
    interval_days, repetitions, next_review_time, create_time, update_time, labels)
  VALUES (owner_id, new_id, new_title, new_content, new_source_url, new_type, new_ease_factor_hundredths,
    new_interval_days, new_repetitions, new_next_review_time, new_create_time, new_create_time, new_labels);
  INSERT INTO scheduling.material_search (user_id, material_id, create_time, title, content, source_url)
  VALUES (owner_id, new_id, new_create_time,
    lower(new_title), lower(coalesce(new_content, '')), lower(coalesce(new_source_url, '')));
  IF new_labels IS NOT NULL THEN
    INSERT INTO scheduling.material_labels (user_id, label, material_id)
    SELECT owner_id, label, new_id FROM unnest(new_labels) AS label;
  END IF;
  RETURN true;
END $function$;

-- Where the other tables are distributed by Citus, these lie beside them.
DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'scheduling.materials'::regclass) THEN
      PERFORM create_distributed_table(name, 'user_id', colocate_with => 'scheduling.materials')
      FROM unnest(ARRAY['scheduling.material_labels', 'scheduling.imported_materials']) AS name;
    END IF;
  END IF;
END $do$;
