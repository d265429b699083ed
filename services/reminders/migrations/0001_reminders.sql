-- Up Migration
-- Everything of one user lies together: every key begins with user_id, and no reference leaves the user's rows.

-- Who has used anything here. A writer locks the user's row first, so that limits hold and a deletion is final.
CREATE TABLE reminders.users (
  user_id uuid PRIMARY KEY,
  -- NULL: e-mail is on.
  email_off_reason text CHECK (email_off_reason IN ('switched off', 'unsubscribed', 'refused')),
  email_off_time timestamptz(3),
  -- Messages in a row that the mail server refused for good.
  email_refusals smallint NOT NULL DEFAULT 0,
  -- 32 random bytes for the link of each mail. Kept as they are, since every mail repeats them; they can do no more than
  -- switch e-mail off.
  unsubscribe_token bytea NOT NULL,
  -- SHA-256 of the secret of the calendar's address.
  feed_hash bytea,
  feed_create_time timestamptz(3),
  -- When the user's data were deleted: nothing may be written for them any more.
  delete_time timestamptz(3)
);

CREATE INDEX users_by_unsubscribe_token ON reminders.users (sha256(unsubscribe_token));
CREATE INDEX users_by_feed ON reminders.users (feed_hash) WHERE feed_hash IS NOT NULL;

CREATE TABLE reminders.reminders (
  user_id uuid NOT NULL,
  reminder_id uuid NOT NULL,
  minute_of_day smallint NOT NULL CHECK (minute_of_day BETWEEN 0 AND 1439),
  -- ISO numbers, 1 for Monday.
  weekdays smallint[] NOT NULL CHECK (cardinality(weekdays) > 0 AND weekdays <@ '{1,2,3,4,5,6,7}'),
  by_email boolean NOT NULL,
  by_push boolean NOT NULL CHECK (by_email OR by_push),
  min_due smallint NOT NULL CHECK (min_due BETWEEN 1 AND 1000),
  only_if_not_reviewed_today boolean NOT NULL,
  paused_until_time timestamptz(3),
  enabled boolean NOT NULL,
  -- The user's in accounts when next_time was worked out.
  time_zone text NOT NULL,
  -- Local date of the latest occurrence: the next one's is later, whatever clocks and time zones do.
  last_date date,
  next_date date CHECK (next_date > last_date),
  next_time timestamptz(3),
  create_time timestamptz(3) NOT NULL,
  update_time timestamptz(3) NOT NULL,
  PRIMARY KEY (user_id, reminder_id),
  CHECK (enabled = (next_time IS NOT NULL) AND enabled = (next_date IS NOT NULL))
);

-- The worker reads what is due from the beginning of this index.
CREATE INDEX reminders_next ON reminders.reminders (next_time) WHERE next_time IS NOT NULL;

CREATE TABLE reminders.push_subscriptions (
  user_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  endpoint text NOT NULL,
  p256dh text NOT NULL,
  auth text NOT NULL,
  create_time timestamptz(3) NOT NULL,
  PRIMARY KEY (user_id, subscription_id),
  UNIQUE (user_id, endpoint)
);

-- One occurrence by one channel to one address. Of the address only the subscription is kept; e-mail goes to the one
-- that accounts has when it is sent. No reference to reminders and push_subscriptions: history outlives them.
CREATE TABLE reminders.deliveries (
  user_id uuid NOT NULL,
  -- Version 7: the primary key is also the order of the list.
  delivery_id uuid NOT NULL,
  -- Of a test, an ID of its own.
  reminder_id uuid NOT NULL,
  local_date date NOT NULL,
  channel text NOT NULL CHECK (channel IN ('email', 'push')),
  -- The nil UUID for e-mail.
  subscription_id uuid NOT NULL,
  is_test boolean NOT NULL,
  state text NOT NULL CHECK (state IN ('pending', 'sent', 'skipped', 'failed')),
  skip_reason text CHECK (skip_reason IN ('nothing due', 'already reviewed', 'paused', 'late')),
  -- Of the latest attempt.
  failure text,
  due_time timestamptz(3) NOT NULL,
  create_time timestamptz(3) NOT NULL,
  update_time timestamptz(3) NOT NULL,
  attempts smallint NOT NULL DEFAULT 0,
  -- Pending: not taken before this instant on the database's clock, at which a lease ends or a retry begins.
  attempt_time timestamptz(3) NOT NULL,
  -- Counts the leases: an outcome is written only by the holder of the latest.
  lease integer NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, delivery_id),
  UNIQUE (user_id, reminder_id, local_date, channel, subscription_id),
  CHECK ((state = 'skipped') = (skip_reason IS NOT NULL))
);

CREATE INDEX deliveries_pending ON reminders.deliveries (channel, attempt_time) WHERE state = 'pending';
CREATE INDEX deliveries_oldest ON reminders.deliveries (create_time);

-- Up to when changes of users have been read from accounts. One row, of the nil UUID.
CREATE TABLE reminders.user_changes (
  user_id uuid PRIMARY KEY CHECK (user_id = '00000000-0000-0000-0000-000000000000'),
  read_until_time timestamptz(3) NOT NULL
);

-- Down Migration
DROP TABLE reminders.user_changes, reminders.deliveries, reminders.push_subscriptions, reminders.reminders,
  reminders.users;
