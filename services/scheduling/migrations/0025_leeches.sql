-- Up Migration
-- Lapses, as scheduling/rows.ts defines them. A review that is none writes nothing here, so it costs what it did.
CREATE INDEX reviews_lapses ON scheduling.reviews (user_id, material_id, revision) INCLUDE (review_id)
  WHERE quality < 3 AND before_repetitions > 0;

-- How many lapses make a material a leech. The check is added by itself and by name, as Citus asks for.
ALTER TABLE scheduling.learner_settings ADD COLUMN leech_lapses smallint NOT NULL DEFAULT 8;
ALTER TABLE scheduling.learner_settings
  ADD CONSTRAINT learner_settings_leech_lapses_check CHECK (leech_lapses BETWEEN 1 AND 99);
