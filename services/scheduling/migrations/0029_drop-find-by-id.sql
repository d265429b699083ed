-- Up Migration
-- Who has a material is found by the last characters of its ID alone.
DROP INDEX scheduling.material_search_by_id;
