-- Up Migration
-- Everything of one user lies together: every key begins with user_id, and no reference leaves the user's rows.

CREATE TABLE scheduling.materials (
  user_id uuid NOT NULL,
  material_id uuid NOT NULL,
  title text NOT NULL,
  content text,
  source_url text,
  type text NOT NULL CHECK (type IN ('simple', 'material', 'flashcard', 'card')),
  -- SM-2 in whole hundredths: every step of the algorithm is one, so nothing is ever rounded.
  ease_factor_hundredths integer NOT NULL CHECK (ease_factor_hundredths >= 130),
  interval_days integer NOT NULL CHECK (interval_days BETWEEN 0 AND 36500),
  repetitions integer NOT NULL CHECK (repetitions >= 0),
  -- NULL means due now.
  next_review_time timestamptz(3),
  last_reviewed_time timestamptz(3),
  -- +1 on every review, snooze and edit: what a writer has read is current if its revision still is.
  revision integer NOT NULL DEFAULT 0,
  create_time timestamptz(3) NOT NULL,
  update_time timestamptz(3) NOT NULL,
  archive_time timestamptz(3),
  PRIMARY KEY (user_id, material_id)
);

CREATE INDEX materials_newest ON scheduling.materials (user_id, create_time DESC, material_id DESC)
  WHERE archive_time IS NULL;
CREATE INDEX materials_due ON scheduling.materials (user_id, next_review_time NULLS FIRST, material_id)
  WHERE archive_time IS NULL;

-- Case-folded text in a table of its own, so that a review, which rewrites its material's row, never touches the
-- costly trigram index. Three columns and not one: a match never spans two fields.
CREATE TABLE scheduling.material_search (
  user_id uuid NOT NULL,
  material_id uuid NOT NULL,
  title text NOT NULL,
  content text NOT NULL,
  source_url text NOT NULL,
  PRIMARY KEY (user_id, material_id),
  FOREIGN KEY (user_id, material_id) REFERENCES scheduling.materials ON DELETE CASCADE
);

-- Append-only. The revision is the material's after the review and orders the history.
CREATE TABLE scheduling.reviews (
  user_id uuid NOT NULL,
  material_id uuid NOT NULL,
  revision integer NOT NULL,
  review_id uuid NOT NULL,
  quality smallint NOT NULL CHECK (quality BETWEEN 0 AND 5),
  review_time timestamptz(3) NOT NULL,
  before_ease_factor_hundredths integer NOT NULL,
  before_interval_days integer NOT NULL,
  before_repetitions integer NOT NULL,
  before_next_review_time timestamptz(3),
  after_ease_factor_hundredths integer NOT NULL,
  after_interval_days integer NOT NULL,
  after_repetitions integer NOT NULL,
  after_next_review_time timestamptz(3) NOT NULL,
  PRIMARY KEY (user_id, material_id, revision),
  FOREIGN KEY (user_id, material_id) REFERENCES scheduling.materials ON DELETE CASCADE
);

CREATE TABLE scheduling.snoozes (
  user_id uuid NOT NULL,
  snooze_id uuid NOT NULL,
  snooze_until_time timestamptz(3) NOT NULL,
  reason text NOT NULL,
  create_time timestamptz(3) NOT NULL,
  PRIMARY KEY (user_id, snooze_id)
);

-- What a snooze did to each of its materials, in the order in which they were sent.
CREATE TABLE scheduling.snoozed_materials (
  user_id uuid NOT NULL,
  material_id uuid NOT NULL,
  -- The material's after the snooze: places it among the reviews.
  revision integer NOT NULL,
  snooze_id uuid NOT NULL,
  position smallint NOT NULL,
  before_next_review_time timestamptz(3),
  after_next_review_time timestamptz(3) NOT NULL,
  PRIMARY KEY (user_id, material_id, revision),
  FOREIGN KEY (user_id, material_id) REFERENCES scheduling.materials ON DELETE CASCADE,
  FOREIGN KEY (user_id, snooze_id) REFERENCES scheduling.snoozes ON DELETE CASCADE
);

CREATE INDEX snoozed_materials_by_snooze ON scheduling.snoozed_materials (user_id, snooze_id);
