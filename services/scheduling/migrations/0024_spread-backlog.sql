-- Up Migration
-- Over how many days a snooze spread a backlog, each material until a day of its own; NULL: all until snooze_until_time.
ALTER TABLE scheduling.snoozes ADD COLUMN spread_days smallint;
