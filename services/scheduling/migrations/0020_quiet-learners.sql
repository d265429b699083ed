-- Up Migration
-- For the list of learners who were active and are so no more.
ALTER TABLE scheduling.learners ADD COLUMN went_quiet boolean NOT NULL DEFAULT false;
CREATE INDEX learners_quiet ON scheduling.learners (due DESC, user_id DESC) WHERE went_quiet;
