-- Up Migration
-- The channels of a reminder as a set, by the names of channels/registry.ts, so that a new one needs no column.
ALTER TABLE reminders.reminders ADD COLUMN channels text[];
UPDATE reminders.reminders
SET channels = array_remove(ARRAY[CASE WHEN by_email THEN 'email' END, CASE WHEN by_push THEN 'push' END], NULL);

-- Processes of the version before know by_email and by_push alone: each side follows the other. A reminder by neither is
-- one that they leave alone.
CREATE FUNCTION reminders.follow_channels() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.channels IS NULL
     OR (TG_OP = 'UPDATE' AND NEW.channels = OLD.channels
         AND (NEW.by_email, NEW.by_push) IS DISTINCT FROM (OLD.by_email, OLD.by_push)) THEN
    NEW.channels := array_remove(
      ARRAY[CASE WHEN NEW.by_email THEN 'email' END, CASE WHEN NEW.by_push THEN 'push' END], NULL);
  ELSE
    NEW.by_email := 'email' = ANY(NEW.channels);
    NEW.by_push := 'push' = ANY(NEW.channels);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER follow_channels BEFORE INSERT OR UPDATE OF channels, by_email, by_push ON reminders.reminders
  FOR EACH ROW EXECUTE FUNCTION reminders.follow_channels();

DO $$
DECLARE either text;
BEGIN
  SELECT conname INTO STRICT either FROM pg_constraint
  WHERE conrelid = 'reminders.reminders'::regclass AND contype = 'c'
    AND pg_get_constraintdef(oid) = 'CHECK ((by_email OR by_push))';
  EXECUTE format('ALTER TABLE reminders.reminders DROP CONSTRAINT %I', either);
END $$;
ALTER TABLE reminders.reminders
  ALTER COLUMN channels SET NOT NULL,
  ADD CONSTRAINT reminders_channels_check CHECK (cardinality(channels) > 0);
ALTER TABLE reminders.deliveries DROP CONSTRAINT deliveries_channel_check;

-- Down Migration
DROP TRIGGER follow_channels ON reminders.reminders;
DROP FUNCTION reminders.follow_channels();
ALTER TABLE reminders.reminders DROP COLUMN channels;
