-- Up Migration
-- Which materials count as due; none: all.
ALTER TABLE reminders.reminders ADD COLUMN labels text[] NOT NULL DEFAULT '{}';
