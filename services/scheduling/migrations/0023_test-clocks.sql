-- Up Migration
-- How far the clock of a sandbox user is ahead. In a table of its own, which no statement of another user reads.
CREATE TABLE scheduling.test_clocks (
  user_id uuid PRIMARY KEY,
  ahead_ms bigint NOT NULL CHECK (ahead_ms >= 0)
);

-- Where the other tables are distributed by Citus, it lies beside them.
DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'scheduling.materials'::regclass) THEN
      PERFORM create_distributed_table('scheduling.test_clocks', 'user_id', colocate_with => 'scheduling.materials');
    END IF;
  END IF;
END $do$;
