-- Up Migration
-- Our public key when the browser subscribed; NULL where a process of the version before stored the subscription.
ALTER TABLE reminders.push_subscriptions ADD COLUMN vapid_key text;

-- Down Migration
ALTER TABLE reminders.push_subscriptions DROP COLUMN vapid_key;
