-- Up Migration
-- What was done to a user, for 90 days: IDs and names of actions only, no text of a learner and no secret.
CREATE TABLE accounts.user_events (
  user_id uuid NOT NULL REFERENCES accounts.users ON DELETE CASCADE,
  event_time timestamptz(3) NOT NULL,
  event_id uuid NOT NULL,
  action text NOT NULL,
  actor text NOT NULL,
  request_id text NOT NULL,
  subject_ids uuid[] NOT NULL,
  -- Whether it is about a key, and whether a person did it; one of the two is true.
  is_of_key boolean NOT NULL,
  is_of_person boolean NOT NULL,
  PRIMARY KEY (user_id, event_time, event_id)
);

-- For the sweep.
CREATE INDEX user_events_oldest ON accounts.user_events (event_time);
