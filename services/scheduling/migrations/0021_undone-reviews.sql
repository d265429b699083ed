-- Up Migration
-- Marks reviews that were undone. In a table of its own, since few are: the history stays append-only, and what counts reviews goes on
-- reading them in the index alone.
CREATE TABLE scheduling.undone_reviews (
  user_id uuid NOT NULL,
  review_id uuid NOT NULL,
  material_id uuid NOT NULL,
  -- The material's after the review, and after it was undone.
  revision integer NOT NULL,
  undo_revision integer NOT NULL,
  undo_time timestamptz(3) NOT NULL,
  actor text NOT NULL,
  x_request_id text NOT NULL,
  PRIMARY KEY (user_id, review_id),
  FOREIGN KEY (user_id, material_id) REFERENCES scheduling.materials ON DELETE CASCADE
);

-- Where the other tables are distributed by Citus, it lies beside them.
DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'scheduling.materials'::regclass) THEN
      PERFORM create_distributed_table('scheduling.undone_reviews', 'user_id', colocate_with => 'scheduling.materials');
    END IF;
  END IF;
END $do$;
