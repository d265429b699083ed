-- Up Migration
-- Another reason. NOT VALID: the rows that are there have the reasons of before, and looking at them would hold everyone up.
ALTER TABLE reminders.deliveries DROP CONSTRAINT deliveries_skip_reason_check;
ALTER TABLE reminders.deliveries ADD CONSTRAINT deliveries_skip_reason_check
  CHECK (skip_reason IN ('nothing due', 'already reviewed', 'paused', 'late', 'sandbox')) NOT VALID;
