-- Up Migration
-- What is due is one range of one index, however much of the user's is not: no instant counts as the earliest.
DROP INDEX scheduling.materials_due;
CREATE INDEX materials_due ON scheduling.materials
  (user_id, (coalesce(next_review_time, '-infinity')), material_id) INCLUDE (next_review_time) WHERE archive_time IS NULL;
