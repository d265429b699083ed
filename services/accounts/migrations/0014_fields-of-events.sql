-- Up Migration
-- Which fields an update set: their names, never their values.
ALTER TABLE accounts.user_events ADD COLUMN fields text[] NOT NULL DEFAULT '{}';
